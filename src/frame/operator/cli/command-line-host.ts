/** What the command line asks of the program that it is part of. */
import type { OperatorCommand, LocalCommand } from "../commands.ts"
import type { OperatorConnection } from "./client.ts"
import type { Catalogue, CommandSpec, OperationInput } from "./command-spec.ts"
import type { DoctorFinding } from "./doctor-finding.ts"
import type { ShownSetting } from "../protocol.ts"
import type { AdminContext } from "../operation.ts"
import { constants } from "node:os"
import type { Log } from "../../kernel/log.ts"

/** How a move tells its operator where it is, and hears that nobody waits any more. */
type MaintenanceChannel = Pick<AdminContext, "progress" | "signal">

/** What a move answers: `ok` says whether the audit at its end found everything in order. */
export interface MaintenanceResult {
  readonly ok: boolean
}

/** The effective settings of a command, and of the server that it would speak to. */
export interface EffectiveSettings {
  readonly own: readonly ShownSetting[]
  /** Null where none runs. */
  readonly server: readonly ShownSetting[] | null
}

/**
 * The program around the command line. Its methods may throw a `StartupFault`: an error whose one
 * sentence tells an operator what to mend.
 */
export interface CommandLineHost {
  /** What the command line offers. */
  readonly catalogue: Catalogue
  /** What is declared behind it: asked for only where the stores are opened in this process. */
  commands(): Promise<readonly OperatorCommand[]>
  /** What is declared behind a command that is done in this process, and nothing else. */
  loadLocalCommand(spec: CommandSpec): Promise<LocalCommand>
  /** The admin socket of the server that holds this data folder, or null where none lives. */
  runningServer(): Promise<{ readonly socketPath: string } | null>
  /**
   * Opens the stores here, starting the embedded PostgreSQL where that is configured.
   *
   * @param options `mayMake`: whether an installation is made where there is none
   */
  openInProcess(options: { readonly mayMake: boolean }): Promise<OperatorConnection>
  /** Runs the server until it is stopped; resolves with the exit code. */
  start(options: {
    readonly demo: boolean
    readonly week: boolean
    readonly processes: number | "auto"
  }): Promise<number>
  /**
   * Moves the whole installation; by the command's name and input. @throws OperatorRefused, and the
   * signal's reason
   */
  runMaintenance(
    name: string,
    input: OperationInput,
    talk: MaintenanceChannel,
  ): Promise<MaintenanceResult>
  /** Looks at everything that the program stands on; of a running server also its read models. */
  runDoctor(): Promise<readonly DoctorFinding[]>
  /**
   * Runs the benchmarks by their own words; resolves with their exit code. An interruption ends them
   * in order. @throws StartupFault where they are not installed
   */
  runBenchmarks(words: readonly string[]): Promise<number>
  effectiveSettings(): Promise<EffectiveSettings>
}

/** What is not stopped in order by then is stopped all the same. */
const STOP_WITHIN_MS = 9_800
/** A terminal's Ctrl-C comes from the terminal and, this much later at most, again from npm. */
const ECHO_MS = 500

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const

/** The stop of a process. */
export interface StopHandle {
  /** Asks for it. */
  readonly begin: () => void
  /** Aborts when everything is to end. */
  readonly signal: AbortSignal
  /** Whether it is because of a fault of the program's own. */
  readonly isCrash: () => boolean
  /** What it was first asked for by; null where nobody asked. */
  readonly requestedBy: () => string | null
}

/**
 * Listens for what ends a process. The first signal asks for an end in order, which takes ten seconds
 * at most; another one ends it at once. An error that nobody caught is told of, and ends it in order
 * as well: what is stored is whole, but what this process has in memory may not be.
 *
 * @param asking the signals that ask for it; the others of those that end a process are not heard
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
  // Rejections that nobody handles come here as well.
  process.on("uncaughtException", (error) => {
    warn("this is a fault of the program, which stops", error)
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
