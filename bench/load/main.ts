/** `npm run load`: sends load to a running server from this process. */
import { processTerminal } from "../../src/frame/operator/cli/terminal.ts"
import { readConfig } from "../../src/bootstrap/settings/config.ts"
import { runLoad } from "./run-load.ts"

/** Ctrl-C arrives from the terminal and again from npm; the second one has no effect. */
const stop = new AbortController()
for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, () => stop.abort())

const { dataDir } = readConfig(process.env)
const terminal = processTerminal(process)
process.exitCode = await runLoad(process.argv.slice(2), dataDir, terminal, stop.signal)
