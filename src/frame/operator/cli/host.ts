/** What the command line asks of the program that it is part of. */
import type { Command, LocalCommand } from "../commands.ts"
import type { Opened } from "./client.ts"
import type { Catalogue, CommandSpec, Input } from "./command.ts"
import type { Finding } from "./finding.ts"
import type { ShownSetting } from "../protocol.ts"
import type { AdminContext } from "../operation.ts"

/** How a move tells its operator where it is, and hears that nobody waits any more. */
export type MoveTalk = Pick<AdminContext, "progress" | "signal">

/** What a move answers: `ok` says whether the audit at its end found everything in order. */
export interface Moved {
  readonly ok: boolean
}

/** The effective settings of a command, and of the server that it would speak to. */
export interface Settings {
  readonly own: readonly ShownSetting[]
  /** Null where none runs. */
  readonly server: readonly ShownSetting[] | null
}

/**
 * The program around the command line. Its methods may throw a `StartupFault`: an error whose one
 * sentence tells an operator what to mend.
 */
export interface Host {
  /** What the command line offers. */
  readonly catalogue: Catalogue
  /** What is declared behind it: asked for only where the stores are opened in this process. */
  commands(): Promise<readonly Command[]>
  /** What is declared behind a command that is done in this process, and nothing else. */
  local(spec: CommandSpec): Promise<LocalCommand>
  /** The admin socket of the server that holds this data folder, or null where none lives. */
  livingServer(): Promise<{ readonly socketPath: string } | null>
  /**
   * Opens the stores here, starting the embedded PostgreSQL where that is configured.
   *
   * @param options `mayMake`: whether an installation is made where there is none
   */
  openLocal(options: { readonly mayMake: boolean }): Promise<Opened>
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
  move(name: string, input: Input, talk: MoveTalk): Promise<Moved>
  /** Looks at everything that the program stands on; of a running server also its read models. */
  examine(): Promise<readonly Finding[]>
  /**
   * Runs the benchmarks by their own words; resolves with their exit code. An interruption ends them
   * in order. @throws StartupFault where they are not installed
   */
  bench(words: readonly string[]): Promise<number>
  settings(): Promise<Settings>
}
