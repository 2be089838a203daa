/**
 * The program. It loads the whole only for what is done in this process: help, and a command beside a
 * running server, need the catalogue and the admin socket alone.
 */
import { readFileSync } from "node:fs"
import { resolve } from "node:path"
import { readRunningServer } from "../adapters/machine/data-folder/running-server.ts"
import { identifyServer } from "./frame/operator/cli/client.ts"
import { findExportedCommand } from "./frame/operator/commands.ts"
import type { Catalogue } from "./frame/operator/cli/command-spec.ts"
import type { CommandLineHost } from "./frame/operator/cli/command-line-host.ts"
import { listenForStop } from "./frame/operator/cli/command-line-host.ts"
import { runCommandLine } from "./frame/operator/cli/run-command-line.ts"
import { processTerminal } from "./frame/operator/cli/terminal.ts"
import type { ProcessContext, LocalCommands } from "./bootstrap/commands/local-commands.ts"
import type { Log } from "./frame/kernel/log.ts"
import { moduleAt } from "./modules.ts"

const { env } = process

const terminal = processTerminal(process)
/** A fault of the program is told of at any level: by the log, once anything is done that has one. */
const faultLog: { warn: Log["warn"] } = {
  warn: (message, error) => {
    const why = error instanceof Error ? (error.stack ?? error.message) : String(error ?? "")
    terminal.err(`${message}\n${why === "" ? "" : `${why}\n`}`)
  },
}
const stopping = listenForStop(process, (message, error) => faultLog.warn(message, error))
const { signal, isCrash } = stopping
const catalogue = JSON.parse(
  readFileSync(new URL("catalogue.json", import.meta.url), "utf8"),
) as Catalogue

async function findRunningServer() {
  const server = await readRunningServer(resolve(env["LEDGER_DATA_DIR"] || "./data"))
  if (server === null) return null
  const identity = await identifyServer(server.socketPath, server.folderId)
  return identity === null ? null : { ...server, settings: identity.settings }
}

const processContext: ProcessContext = { env, terminal, stopping, runningServer: findRunningServer }

/** What is done in this process, loaded once something is. */
const loaded: { work?: Promise<LocalCommands> } = {}
const loadLocalCommands = () =>
  (loaded.work ??= import("./bootstrap/commands/local-commands.ts").then(
    ({ openLocalCommands }) => {
      const work = openLocalCommands(processContext)
      faultLog.warn = work.warn
      return work
    },
  ))

const host: CommandLineHost = {
  catalogue,
  runningServer: findRunningServer,
  commands: async () => (await loadLocalCommands()).commands(),
  loadLocalCommand: async ({ name, from = "" }) => findExportedCommand(name, await moduleAt(from)),
  openInProcess: async (options) => (await loadLocalCommands()).openInProcess(options),
  start: async (options) => (await loadLocalCommands()).start(options),
  runMaintenance: async (...args) => (await loadLocalCommands()).runMaintenance(...args),
  runDoctor: async () => (await loadLocalCommands()).runDoctor(),
  runBenchmarks: async (words) => (await loadLocalCommands()).runBenchmarks(words),
  effectiveSettings: async () =>
    (await import("./bootstrap/commands/local-settings.ts")).readLocalSettings(
      catalogue,
      moduleAt,
      processContext,
    ),
}

async function main(): Promise<void> {
  const code = await runCommandLine(process.argv.slice(2), host, terminal, signal)
  /** Whether something is open still that would keep this process from ending. */
  const isLeft = (await loaded.work)?.hasOpenResources() ?? false
  process.exitCode = isCrash() || (isLeft && code === 0) ? 1 : code
  // Nobody waits for what an interrupted command had in hand.
  if (isLeft || isCrash() || (signal.aborted && code !== 0)) process.exit()
}

void main()
