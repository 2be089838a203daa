/**
 * The program's entry point. Help and commands for a running server need only the catalogue and the admin socket, so
 * the rest of the program is loaded on demand.
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
/** Reports faults of the program at any log level; writes to the terminal until a log exists. */
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

/** The commands of this process, loaded on first use. */
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
  /** Whether an open resource would keep this process from exiting. */
  const isLeft = (await loaded.work)?.hasOpenResources() ?? false
  process.exitCode = isCrash() || (isLeft && code === 0) ? 1 : code
  // The pending work of an interrupted command is not awaited.
  if (isLeft || isCrash() || (signal.aborted && code !== 0)) process.exit()
}

void main()
