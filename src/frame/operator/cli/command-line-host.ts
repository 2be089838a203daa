/** The interface between the command line and the program it belongs to. */
import type { OperatorCommand, LocalCommand } from "../commands.ts"
import type { OperatorConnection } from "./client.ts"
import type { Catalogue, CommandSpec, OperationInput } from "./command-spec.ts"
import type { DoctorFinding } from "./doctor-finding.ts"
import type { ShownSetting } from "../protocol.ts"
import type { AdminContext } from "../operation.ts"
import { constants } from "node:os"
import type { Log } from "../../kernel/log.ts"

/** How a maintenance command reports progress and is interrupted. */
type MaintenanceChannel = Pick<AdminContext, "progress" | "signal">

/** Result of a maintenance command; `ok` is the result of the audit at its end. */
export interface MaintenanceResult {
  readonly ok: boolean
}

/** The effective settings of a command, and of the running server. */
export interface EffectiveSettings {
  readonly own: readonly ShownSetting[]
  /** Null if no server runs. */
  readonly server: readonly ShownSetting[] | null
}

/** The program around the command line. Methods may throw a `StartupFault`, whose message says what to fix. */
export interface CommandLineHost {
  /** The commands as data. */
  readonly catalogue: Catalogue
  /** Loads all declared commands; needed only to open the stores in this process. */
  commands(): Promise<readonly OperatorCommand[]>
  /** Loads only the module of a command that runs in this process. */
  loadLocalCommand(spec: CommandSpec): Promise<LocalCommand>
  /** Finds the admin socket of the server that uses this data folder; null if none runs. */
  runningServer(): Promise<{ readonly socketPath: string } | null>
  /**
   * Opens the stores in this process, and starts the embedded PostgreSQL if that is configured.
   *
   * @param options `mayMake`: whether to create an installation if there is none
   */
  openInProcess(options: { readonly mayMake: boolean }): Promise<OperatorConnection>
  /** Runs the server until it is stopped; resolves with the exit code. */
  start(options: {
    readonly demo: boolean
    readonly week: boolean
    readonly processes: number | "auto"
  }): Promise<number>
  /** Runs a maintenance command on the whole installation. @throws OperatorRefused, and the signal's reason */
  runMaintenance(
    name: string,
    input: OperationInput,
    talk: MaintenanceChannel,
  ): Promise<MaintenanceResult>
  /** Checks everything that the program depends on, including the read models of a running server. */
  runDoctor(): Promise<readonly DoctorFinding[]>
  /**
   * Runs the benchmarks with their own arguments; resolves with their exit code. An interrupt stops them
   * cleanly. @throws StartupFault if they are not installed
   */
  runBenchmarks(words: readonly string[]): Promise<number>
  effectiveSettings(): Promise<EffectiveSettings>
}

/** Deadline of a clean stop; then the process exits anyway. */
const STOP_WITHIN_MS = 9_800
/** Ctrl-C arrives twice, from the terminal and, within this time, from npm. */
const ECHO_MS = 500

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const

/** Controls the stop of a process. */
export interface StopHandle {
  readonly begin: () => void
  /** Aborted when everything must end. */
  readonly signal: AbortSignal
  /** Whether an uncaught error caused the stop. */
  readonly isCrash: () => boolean
  /** The first signal that requested the stop; null if none did. */
  readonly requestedBy: () => string | null
}

/**
 * Handles signals that end a process. The first one starts a clean stop, which takes at most ten seconds;
 * another one exits immediately. An uncaught error is logged and also stops cleanly: the stored data is
 * complete, but the memory of this process may not be.
 *
 * @param asking the signals that start a stop; the others are ignored
 */
export function listenForStop(
  process: NodeJS.Process,
  warn: Log["warn"],
  asking: readonly NodeJS.Signals[] = SIGNALS,
): StopHandle {
  const stop = new AbortController()
  let first: { readonly name: string; readonly at: number } | null = null
  let isCrash = false

  const begin = (): void => {
    if (stop.signal.aborted) return
    stop.abort()
    setTimeout(() => {
      warn("stopped before all was done: it took too long", null)
      process.exit(1)
    }, STOP_WITHIN_MS).unref()
  }
  for (const name of SIGNALS) {
    process.on(name, () => {
      if (!asking.includes(name)) return
      const at = performance.now()
      const isEcho = first?.name === name && at - first.at < ECHO_MS
      if (first !== null && !isEcho) process.exit(128 + constants.signals[name])
      first ??= { name, at }
      begin()
    })
  }
  // Unhandled rejections arrive here as well.
  process.on("uncaughtException", (error) => {
    warn("an uncaught error stops the process; this is a bug in the program", error)
    isCrash = true
    process.exitCode = 1
    begin()
  })
  return {
    begin,
    signal: stop.signal,
    isCrash: () => isCrash,
    requestedBy: () => first?.name ?? null,
  }
}
