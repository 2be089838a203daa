/** Commands that run in the command line's own process, because they need the stores or the settings. */
import { availableParallelism } from "node:os"
import { StartupFault } from "../../../adapters/machine/startup/port.ts"
import { PROGRAM } from "../../slices.ts"
import { openInProcess } from "../../frame/http/operator-app.ts"
import { callOperation, sendOverSocket } from "../../frame/operator/cli/client.ts"
import type { CommandLineHost, StopHandle } from "../../frame/operator/cli/command-line-host.ts"
import type { Terminal } from "../../frame/operator/cli/terminal.ts"
import type { ShownSetting } from "../../frame/operator/protocol.ts"
import { HEALTH_URLS } from "../../frame/http/health.ts"
import { openLog } from "../../frame/kernel/log.ts"
import type { Log } from "../../frame/kernel/log.ts"
import type { Config } from "../settings/config.ts"
import { listSettings, readConfig } from "../settings/config.ts"
import { runDoctor } from "../doctor/doctor.ts"
import { DataFolderInUse } from "../open/host-environment.ts"
import { workerCountFor } from "../processes/worker-pool.ts"
import { runSupervisor } from "../processes/supervisor.ts"
import { requireInstallation } from "../open/startup-faults.ts"
import type { LockedInstallation, ServerOptions } from "../serve/server.ts"
import { repairStreamSettings } from "../maintenance/settings-repair.ts"
import { openLockedInstallation, runServer } from "../serve/server.ts"

/** The server that holds this data folder. */
interface AnnouncedServer {
  readonly url: string
  readonly socketPath: string
  readonly settings: readonly ShownSetting[]
}

/** The process that runs the commands. */
export interface ProcessContext {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly terminal: Terminal
  readonly stopping: StopHandle
  readonly runningServer: () => Promise<AnnouncedServer | null>
}

/** The part of the command-line host that runs in this process. */
export interface LocalCommands extends Omit<
  CommandLineHost,
  "catalogue" | "runningServer" | "loadLocalCommand" | "effectiveSettings"
> {
  /** Whether an open resource would keep the process from exiting. */
  readonly hasOpenResources: () => boolean
  /** Logs a fault of the program, whatever the log level. */
  readonly warn: Log["warn"]
}

function startServer(options: ServerOptions, processes: number | "auto"): Promise<number> {
  const count =
    processes === "auto" ? workerCountFor(availableParallelism(), options.config) : processes
  return count === 1 ? runServer(options) : runSupervisor(options, count)
}

/** Opens the stores for a command if no server runs. @throws StartupFault; the signal's reason */
async function openStoresForCommand(
  config: Config,
  log: Log,
  signal: AbortSignal,
): Promise<LockedInstallation> {
  try {
    return await openLockedInstallation(config, () => config.baseUrl ?? "", log, signal)
  } catch (error) {
    if (!(error instanceof DataFolderInUse)) throw error
    throw new StartupFault(
      `${config.dataDir} is in use, and its server takes no commands yet: it is starting or stopping, or another ` +
        "command runs there. Run this command again in a moment.",
      error,
    )
  }
}

/** Runs a maintenance command by its name. @throws the command's errors */
async function runStoreCommand(
  config: Config,
  name: string,
  input: Parameters<LocalCommands["runMaintenance"]>[1],
  log: Log,
  talk: Parameters<LocalCommands["runMaintenance"]>[2],
): ReturnType<LocalCommands["runMaintenance"]> {
  switch (name) {
    case "store migrate":
      await requireInstallation(config)
      return (await import("../maintenance/store-migration.ts")).migrateStore(
        config,
        String(input["to"]),
        log,
        talk,
      )
    case "store repair-settings":
      return repairStreamSettings(config, String(input["stream"]), input["show"] !== true)
    case "restore":
      return (await import("../maintenance/restore-backup.ts")).restoreBackup(
        config,
        String(input["file"]),
        log,
        talk,
      )
  }
  throw new Error(`there is no maintenance command ${name}`)
}

/** Prepares the commands without opening anything. */
export function openLocalCommands(around: ProcessContext): LocalCommands {
  const { env, terminal, stopping, runningServer } = around
  const { signal } = stopping
  let isLeft = false
  /** Reads the settings, and prints the warnings that a server would log. */
  const ownConfig = () => {
    const config = readConfig(env)
    for (const warning of config.warnings) terminal.err(`${warning}\n`)
    return config
  }
  /** Opens the log of a command, by default for errors only: other lines would mix with its output. */
  const commandLog = ({ logLevel }: Config) =>
    openLog(env["LOG_LEVEL"] === undefined ? "error" : logLevel)
  return {
    commands: async () => PROGRAM.commands,
    openInProcess: async ({ mayMake }) => {
      const config = ownConfig()
      if (!mayMake) await requireInstallation(config)
      const stores = await openStoresForCommand(config, commandLog(config), signal)
      const close = async () => {
        const left = await stores.close()
        if (left.length === 0) return
        isLeft = true
        terminal.err(`Stopped with work left: ${left.join("; ")}.\n`)
      }
      const { send, close: closeRoutes } = await openInProcess(
        PROGRAM.operations,
        stores.ports,
        signal,
      )
      return { send, close: () => closeRoutes().finally(close) }
    },
    start: async ({ demo, week, processes }) => {
      const config = readConfig(env)
      const say = (line: string) => terminal.out(`${line}\n`)
      const settings = listSettings(env)
      const log = openLog(config.logLevel)
      signal.addEventListener("abort", () =>
        log.info("stopping", { askedBy: stopping.requestedBy() }),
      )
      const onDemoProgress = week ? (line: string) => terminal.err(`${line}\n`) : undefined
      const progress = onDemoProgress === undefined ? {} : { onDemoProgress }
      const code = await startServer(
        { config, settings, demo, log, say, signal, ...progress },
        processes,
      )
      // A resource that could not be closed without its database must not delay a restart.
      isLeft ||= code !== 0
      return code
    },
    runMaintenance: async (name, input, talk) => {
      const config = ownConfig()
      return runStoreCommand(config, name, input, commandLog(config), talk)
    },
    runDoctor: async () => {
      const config = readConfig(env)
      const server = await runningServer()
      const running = server && {
        url: server.url,
        readiness: async () => (await fetch(`${server.url}${HEALTH_URLS.ready}`)).text(),
        ask: (operation: string, input: object) => {
          const request = { operation, actor: "doctor", reason: null, input }
          return callOperation(sendOverSocket(server.socketPath), request, { signal })
        },
      }
      return runDoctor(config, running)
    },
    runBenchmarks: async (words) => (await import("./benchmarks.ts")).runBenchmarks(words, signal),
    hasOpenResources: () => isLeft,
    warn: openLog("warn").warn,
  }
}
