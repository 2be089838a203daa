/** `npm run load`: calls a running server, in this process. */
import { processTerminal } from "../../src/frame/operator/cli/terminal.ts"
import { readConfig } from "../../src/bootstrap/settings/config.ts"
import { runLoad } from "./run-load.ts"

/** A terminal's Ctrl-C comes from the terminal and again from npm: the second one changes nothing. */
const stop = new AbortController()
for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, () => stop.abort())

const { dataDir } = readConfig(process.env)
const terminal = processTerminal(process)
process.exitCode = await runLoad(process.argv.slice(2), dataDir, terminal, stop.signal)
