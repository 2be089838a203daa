/** The port of the projector. */
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { Position, ReadAllRange, StoredEvent } from "../../eventstore/port.ts"

export interface ProjectionStatus {
  readonly name: string
  readonly version: number
  /** `stopped` at a fact that it cannot handle. */
  readonly state: "running" | "stopped"
  /** Whether this process writes it; otherwise another one does. */
  readonly here: boolean
  readonly position: Position
  /** Facts delivered here and not yet written; null if another process writes it. */
  readonly behind: number | null
  /** How long the oldest of them has waited, in milliseconds; null if another process writes it. */
  readonly behindMs: number | null
  readonly fault: string | null
}

/** The result of comparing a read model with a rebuild. */
export interface ReadModelVerification {
  readonly name: string
  readonly same: boolean
  /** The fact at which the rebuild failed, and why; null if it did not fail. */
  readonly fault: string | null
  /** Per table: rows and checksum, live and rebuilt. */
  readonly tables: readonly {
    readonly table: string
    readonly live: string
    readonly rebuilt: string
  }[]
}

/** The rows of read models to compare with a rebuild. */
export interface ComparisonScope {
  /** Compare only this company's rows; null for all rows. */
  readonly companyId: CompanyId | null
  /** A range with all events of these rows, and possibly others. */
  readonly range: Omit<ReadAllRange, "after" | "limit">
  /** Whether an event of the range belongs to these rows. */
  readonly isWanted: (stored: StoredEvent) => boolean
  /** Called after each page with the number of folded events, and the position of the last. */
  readonly onProgress: (events: number, position: Position | null) => void
  readonly signal?: AbortSignal
}

/** A fact cannot be folded. The message names it and the reason. */
export class FoldFault extends Error {
  override readonly name = "FoldFault"
}

/** Creates the fault of a fact from the error of folding it. */
export function toFoldFault({ stream, revision }: StoredEvent, cause: unknown): FoldFault {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new FoldFault(`${stream} revision ${revision}: ${reason}`, { cause })
}

export interface Projector {
  /**
   * Waits until these read models (default all) have written everything up to a position, in whichever process,
   * and this process has read it. False if one of them is stopped or the time runs out.
   */
  readonly waitUntilWritten: (
    position: Position,
    timeoutMs: number,
    names?: readonly string[],
  ) => Promise<boolean>
  /**
   * Resolves to true once this process has read every fact in a read model's current rows; false if
   * the store is lost before.
   */
  readonly waitUntilRead: (name: string) => Promise<boolean>
  readonly rebuildable: readonly string[]
  readonly listReadModelsOf: (stream: string) => readonly string[]
  /**
   * Enqueues the jobs of events that were held back; existing jobs stay as they are.
   *
   * @throws errors of decoding an event, and the driver's errors
   */
  readonly enqueueReactions: (events: readonly StoredEvent[]) => Promise<void>
  readonly status: () => Promise<readonly ProjectionStatus[]>
  /**
   * Rebuilds a read model in a shadow next to the live one, then swaps them. Writers wait during the swap.
   *
   * @throws RangeError for an unknown name
   * @throws FoldFault if a fact cannot be folded: the live read model stays
   */
  readonly rebuild: (name: string, progress: FoldProgress) => Promise<void>
  /**
   * Rebuilds read models in one pass and compares them with the live ones. A fault of one does not
   * affect the others.
   *
   * @throws RangeError for an unknown name
   */
  readonly verify: (
    names: readonly string[],
    comparison: ComparisonScope,
  ) => Promise<readonly ReadModelVerification[]>
}

/** Called from time to time with the number of folded events. */
export type FoldProgress = (events: number) => void
