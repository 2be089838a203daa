/** What the rest of the house asks of the runner of read models. */
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { Position, ReadAllRange, StoredEvent } from "../../eventstore/port.ts"

/** How a read model stands. */
export interface ProjectionStatus {
  readonly name: string
  readonly version: number
  /** `running`, or `stopped` at a fact it could not take. */
  readonly state: "running" | "stopped"
  /** Whether it is kept up by this process; else by another one of the installation. */
  readonly here: boolean
  readonly position: Position
  /** Facts handed over here and not yet written; null where another process keeps it up. */
  readonly behind: number | null
  /** How long the oldest of them has waited, milliseconds; null where another process keeps it up. */
  readonly behindMs: number | null
  /** Why it stopped. */
  readonly fault: string | null
}

/** What comparing a read model with a rebuild found. */
export interface ReadModelVerification {
  readonly name: string
  readonly same: boolean
  /** The fact at which folding anew had to end, and why; null where there was none. */
  readonly fault: string | null
  /** Per table: rows and checksum, live and rebuilt. */
  readonly tables: readonly {
    readonly table: string
    readonly live: string
    readonly rebuilt: string
  }[]
}

/** What of read models is compared with a rebuild. */
export interface ComparisonScope {
  /** The only company whose rows are compared; null for all rows. */
  readonly companyId: CompanyId | null
  /** The events that these rows are made of, and perhaps others. */
  readonly range: Omit<ReadAllRange, "after" | "limit">
  /** Whether an event of the range is one of them. */
  readonly isWanted: (stored: StoredEvent) => boolean
  /** Notes after each page how many events were folded by now, and the place of the last. */
  readonly onProgress: (events: number, position: Position | null) => void
  readonly signal?: AbortSignal
}

/** A fact cannot be folded. The message names it and says why. */
export class FoldFault extends Error {
  override readonly name = "FoldFault"
}

/** The fault of a fact, by what was thrown when it was folded. */
export function toFoldFault({ stream, revision }: StoredEvent, cause: unknown): FoldFault {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new FoldFault(`${stream} revision ${revision}: ${reason}`, { cause })
}

/** Runs the read models. */
export interface Projector {
  /**
   * Waits until these read models (default all) have taken everything up to a place, in whichever
   * process they are kept up, and this process has read it. False where one of them is stopped or
   * the time ran out.
   */
  readonly waitUntilWritten: (
    position: Position,
    timeoutMs: number,
    names?: readonly string[],
  ) => Promise<boolean>
  /**
   * True once this process has read every fact that a read model's rows, as they are by now, were
   * made of, whichever process made them; false where the store is lost before.
   */
  readonly waitUntilRead: (name: string) => Promise<boolean>
  /** The read models that are folds and can be built anew. */
  readonly rebuildable: readonly string[]
  /** The names of the read models that read a stream. */
  readonly listReadModelsOf: (stream: string) => readonly string[]
  /**
   * Queues the jobs that follow from events which were held back; a job that is queued already stays one.
   *
   * @throws what reading an event throws, and the driver's errors
   */
  readonly enqueueReactions: (events: readonly StoredEvent[]) => Promise<void>
  readonly status: () => Promise<readonly ProjectionStatus[]>
  /**
   * Folds a read model anew beside the live one, then swaps them. For the moment of the swap nobody
   * writes it, in no process.
   *
   * @throws RangeError: no such name
   * @throws FoldFault where a fact cannot be folded: the live one stays as it is
   */
  readonly rebuild: (name: string, progress: FoldProgress) => Promise<void>
  /**
   * Folds read models again, all in one pass, and compares them with the live ones. A fault of one ends
   * no other.
   *
   * @throws RangeError: no such name
   */
  readonly verify: (
    names: readonly string[],
    comparison: ComparisonScope,
  ) => Promise<readonly ReadModelVerification[]>
}

/** Told now and then how many events were folded. */
export type FoldProgress = (events: number) => void
