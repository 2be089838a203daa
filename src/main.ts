/** The program: the only file that reads the environment, and with `compose/` the only adapters. */
import { announced } from "../adapters/data-folder/data-folder.ts"
import { ADMIN_OPERATIONS } from "./admin/index.ts"
import { isServerOf } from "./cli/admin-client.ts"
import type { Host } from "./cli/host.ts"
import { runCommandLine } from "./cli/execute.ts"
import { processTerminal } from "./cli/terminal.ts"
import { listSettings, readConfig } from "./compose/config.ts"
import { openStores, runServer } from "./compose/server.ts"
import { openLog } from "./log.ts"

/** A terminal's Ctrl-C comes from the terminal and again from npm: the second one changes nothing. */
function stopSignal(): AbortSignal {
  const stop = new AbortController()
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    process.on(name, () => stop.abort())
  }
  return stop.signal
}

const { env } = process
const signal = stopSignal()
const terminal = processTerminal(process)

const host: Host = {
  livingServer: async () => {
    const server = await announced(readConfig(env).dataDir)
    if (server === null) return null
    return (await isServerOf(server.socketPath, server.folderId)) ? server : null
  },
  openLocal: async () => {
    const config = readConfig(env)
    const log = openLog(env["LOG_LEVEL"] === undefined ? "error" : config.logLevel)
    const stores = await openStores(config, () => config.baseUrl ?? "", log)
    return { operations: ADMIN_OPERATIONS, ports: stores.ports, close: stores.close }
  },
  start: async ({ demo }) => {
    const config = readConfig(env)
    const say = (line: string) => terminal.out(`${line}\n`)
    return runServer({ config, demo, log: openLog(config.logLevel), say, signal })
  },
  settings: () => listSettings(env),
}

process.exitCode = await runCommandLine(process.argv.slice(2), host, terminal, signal)
