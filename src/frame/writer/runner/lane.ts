/** One stream's queue: its callers, its state in memory, and the work in flight. */
import type { ProposedEvent } from "../../../../adapters/eventstore/port.ts"
import type { Aggregate, Gathering } from "../../../../domain/kernel/aggregate.ts"
import type { Fact } from "../../../../domain/kernel/decider.ts"
import type { Cause } from "../../kernel/envelope.ts"
import type { Loaded } from "./load.ts"
import type { Outcome } from "./port.ts"

/** Any decider: a queue holds commands of one only, and the types meet again where it is called. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type AnyAggregate = Aggregate<any, any, any, any> & {
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly gathering?: Gathering<any, any, any, any>
}
/** An outcome whose types only its caller knows. */
export type AnyOutcome = Outcome<Fact, Fact, unknown>

/** A caller in a queue. */
export interface Waiting {
  /** Null for a caller who only looks. */
  readonly command: { readonly given: object; readonly cause: Cause } | null
  /** A caller who looks once what is gathered was recorded. */
  readonly records?: true
  /** A caller who waits, up to the deadline, while this process cannot tell the ledger's time. */
  readonly isPatient?: true
  /** A caller who looks at what was the store's at some moment since they came. */
  readonly isLatest?: true
  readonly view: (state: unknown, at: number) => unknown
  /** When the caller came and when it no longer waits, by the pacer's elapsed time. */
  readonly arrivedAt: number
  readonly deadline: number
  /** What was decided for them is in an append that may be stored, or rests on one. */
  isInDoubt: boolean
  /** They were told something: nobody waits here any more. */
  isTold: boolean
  /** Tells them; who was told already hears nothing more. */
  readonly resolve: (outcome: AnyOutcome) => void
  readonly reject: (error: unknown) => void
}

/** A stream in this process. */
export interface Lane {
  readonly stream: string
  readonly aggregate: AnyAggregate
  /** Null until it is loaded, and again whenever it may differ from the store. */
  loaded: Loaded<unknown> | null
  /** The newest revision that was stored from here or heard of: no load may end before it. */
  reached: number
  /** The events that the state has and nobody knows to be stored, and the revision of the first. */
  appending: { readonly events: readonly ProposedEvent[]; readonly first: number } | null
  /** When the state was last known to be the store's, by the pacer's elapsed time. */
  confirmedAt: number
  /** Facts were heard of that the state does not have. */
  isStale: boolean
  /** Appends in a row that met another writer's facts. */
  conflicts: number
  /** Until when this stream's writers take turns by a lock, by the pacer's elapsed time. */
  contendedUntil: number
  /** What the state takes of the memory, about. */
  bytes: number
  /** Whether it was used since it was last passed over as one to let go. */
  isUsed: boolean
  readonly queue: Waiting[]
  /** The work in flight; null when idle. */
  busy: Promise<void> | null
  /** Ends the rest between two tries that no caller waits for; null where there is none. */
  wake: (() => void) | null
  /** Something may be gathered beside the state. */
  hasGathered: boolean
  /** When something was last gathered, by the ledger's time. */
  gatheredAt: number
  /** It will be recorded when a timer ends. */
  isTimed: boolean
  /** The checkpoint being kept. */
  saving: Promise<void>
  checkpointBytes: number
}

/** Commands that were decided one after the other, and the facts to store for them. */
export interface Batch {
  readonly events: ProposedEvent[]
  /** The hash of the last of them. */
  hash: string
  readonly answers: { readonly waiting: Waiting; readonly outcome: AnyOutcome }[]
}

/** A stream that nobody has used yet. */
export function newLane(aggregate: AnyAggregate, stream: string): Lane {
  return {
    stream,
    aggregate,
    loaded: null,
    reached: -1,
    appending: null,
    confirmedAt: -Infinity,
    isStale: false,
    conflicts: 0,
    contendedUntil: -Infinity,
    bytes: 0,
    isUsed: false,
    queue: [],
    busy: null,
    wake: null,
    hasGathered: false,
    gatheredAt: -Infinity,
    isTimed: false,
    saving: Promise.resolve(),
    checkpointBytes: 0,
  }
}
