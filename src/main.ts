/** The program: the only file that reads the environment, and with `compose/` the only adapters. */
import { announced } from "../adapters/data-folder/data-folder.ts"
import { ADMIN_OPERATIONS, COMMANDS } from "./operations.ts"
import { catalogueOf } from "./frame/operator/catalogue.ts"
import { ServerGone, askServer, serverOf } from "./frame/operator/cli/admin-client.ts"
import type { Host } from "./frame/operator/cli/host.ts"
import { runCommandLine } from "./frame/operator/cli/execute.ts"
import { processTerminal } from "./frame/operator/cli/terminal.ts"
import type { Config } from "./compose/config.ts"
import { listSettings, readConfig } from "./compose/config.ts"
import { runBenchmarks } from "./compose/benchmarks.ts"
import { examine } from "./compose/doctor.ts"
import { move } from "./compose/moves.ts"
import { openStores, runServer } from "./compose/server.ts"
import { listenForStop } from "./compose/stopping.ts"
import { HEALTH_URLS } from "./frame/http/health.ts"
import { openLog } from "./frame/kernel/log.ts"

const { env } = process

/** A command's own log: on a terminal it would stand between the lines of its answer. */
const commandLog = ({ logLevel }: Config) =>
  openLog(env["LOG_LEVEL"] === undefined ? "error" : logLevel)

// A fault of the program is told of at any level.
const { signal, isCrash, askedBy } = listenForStop(process, openLog("warn").warn)
/** Whether something is open still that would keep this process from ending. */
let isLeft = false
const terminal = processTerminal(process)

async function livingServer() {
  const server = await announced(readConfig(env).dataDir)
  if (server === null) return null
  const identity = await serverOf(server.socketPath, server.folderId)
  return identity === null ? null : { ...server, settings: identity.settings }
}

/** One that does not answer keeps nobody from seeing the settings of the command itself. */
async function settingsOfServer() {
  try {
    return (await livingServer())?.settings ?? null
  } catch (error) {
    if (!(error instanceof ServerGone)) throw error
    terminal.err(`${error.message}\n`)
    return null
  }
}

const host: Host = {
  catalogue: catalogueOf(COMMANDS),
  commands: async () => COMMANDS,
  livingServer,
  openLocal: async () => {
    const config = readConfig(env)
    const stores = await openStores(config, () => config.baseUrl ?? "", commandLog(config))
    const close = async () => {
      const left = await stores.close()
      if (left.length === 0) return
      isLeft = true
      terminal.err(`Ended before all was done: ${left.join("; ")}.\n`)
    }
    return { operations: ADMIN_OPERATIONS, ports: stores.ports, close }
  },
  start: async ({ demo }) => {
    const config = readConfig(env)
    const say = (line: string) => terminal.out(`${line}\n`)
    const settings = listSettings(env)
    const log = openLog(config.logLevel)
    signal.addEventListener("abort", () => log.info("stopping", { askedBy: askedBy() }))
    const code = await runServer({ config, settings, demo, log, say, signal })
    // What could not be closed for want of its database keeps nobody waiting who starts us again.
    isLeft ||= code !== 0
    return code
  },
  move: async (name, input, talk) => {
    const config = readConfig(env)
    return move(config, name, input, commandLog(config), talk)
  },
  examine: async () => {
    const config = readConfig(env)
    const server = await livingServer()
    const request = { operation: "projections status", actor: "doctor", reason: null, input: {} }
    const talk = { progress: () => undefined, send: async () => undefined, signal }
    const living = server && {
      url: server.url,
      readiness: async () => (await fetch(`${server.url}${HEALTH_URLS.ready}`)).text(),
      status: () => askServer(server.socketPath, request, talk),
    }
    return examine(config, living)
  },
  bench: (words) => runBenchmarks(words, signal),
  settings: async () => ({ own: listSettings(env), server: await settingsOfServer() }),
}

const code = await runCommandLine(process.argv.slice(2), host, terminal, signal)
process.exitCode = isCrash() || (isLeft && code === 0) ? 1 : code
if (isLeft || isCrash()) process.exit()
