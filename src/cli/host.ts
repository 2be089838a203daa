/** What the command line asks of the program that it is part of. */
import type { AdminOperation, AdminPorts } from "../admin/operation.ts"

/** The stores, opened for the length of one command. */
export interface OpenedStores {
  readonly operations: readonly AdminOperation[]
  readonly ports: AdminPorts
  /** Waits for what is in flight, then closes everything that was opened. */
  close(): Promise<void>
}

/** An effective setting. */
export interface ShownSetting {
  readonly name: string
  /** As text; secrets are masked. */
  readonly value: string
  readonly source: "default" | "environment"
}

/**
 * The program around the command line. Its methods may throw a `StartupFault`: an error whose one
 * sentence tells an operator what to mend.
 */
export interface Host {
  /** The admin socket of the server that holds this data folder, or null where none lives. */
  livingServer(): Promise<{ readonly socketPath: string } | null>
  /** Opens the stores here, starting the embedded PostgreSQL where that is configured. */
  openLocal(): Promise<OpenedStores>
  /** Runs the server until it is stopped; resolves with the exit code. */
  start(options: { readonly demo: boolean }): Promise<number>
  /** The effective settings. */
  settings(): readonly ShownSetting[]
}
