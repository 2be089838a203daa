/** The program: the only file that reads the environment, and with `compose/` the only adapters. */
import { announced } from "../adapters/data-folder/data-folder.ts"
import { ADMIN_OPERATIONS } from "./admin/index.ts"
import { askServer, isServerOf } from "./cli/admin-client.ts"
import type { Host } from "./cli/host.ts"
import { runCommandLine } from "./cli/execute.ts"
import { processTerminal } from "./cli/terminal.ts"
import type { Config } from "./compose/config.ts"
import { listSettings, readConfig } from "./compose/config.ts"
import { examine } from "./compose/doctor.ts"
import { move } from "./compose/moves.ts"
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

/** A command's own log: on a terminal it would stand between the lines of its answer. */
const commandLog = ({ logLevel }: Config) =>
  openLog(env["LOG_LEVEL"] === undefined ? "error" : logLevel)

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
    const stores = await openStores(config, () => config.baseUrl ?? "", commandLog(config))
    return { operations: ADMIN_OPERATIONS, ports: stores.ports, close: stores.close }
  },
  start: async ({ demo }) => {
    const config = readConfig(env)
    const say = (line: string) => terminal.out(`${line}\n`)
    const code = await runServer({ config, demo, log: openLog(config.logLevel), say, signal })
    // What could not be closed for want of its database keeps nobody waiting who starts us again.
    if (code !== 0) process.exit(code)
    return code
  },
  move: async (name, input, talk) => {
    const config = readConfig(env)
    return move(config, name, input, commandLog(config), talk)
  },
  examine: async () => {
    const config = readConfig(env)
    const server = await host.livingServer()
    const request = { operation: "projections status", actor: "doctor", reason: null, input: {} }
    const talk = { progress: () => undefined, send: async () => undefined, signal }
    const ask = server && (() => askServer(server.socketPath, request, talk))
    return examine(config, ask)
  },
  settings: () => listSettings(env),
}

process.exitCode = await runCommandLine(process.argv.slice(2), host, terminal, signal)
