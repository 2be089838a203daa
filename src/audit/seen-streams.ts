/** What an audit knows of a stream while it reads all of them. */
import { APP } from "../../domain/connection/aggregates.ts"
import { RECIPIENT } from "../../domain/phone/aggregates.ts"
import type { LedgerEvent } from "../../domain/charging/ledger-events.ts"
import { postingsOf } from "../../domain/charging/postings.ts"
import type { CheckpointForm, Decider } from "../../domain/kernel/decider.ts"
import type { Codec } from "../../domain/kernel/format.ts"
import type { AnyFact } from "../../projections/kernel/projection.ts"
import type { KeptCheckpoint } from "../frame/operator/operation.ts"
import { codecOfStream } from "../frame/writer/aggregates.ts"
import type { LedgerReplay } from "./decisions.ts"
import type { HeadsHeld } from "./heads-held.ts"

/** A stream as an audit has come to know it so far. */
export interface Seen {
  readonly stream: string
  readonly codec: Pick<Codec<AnyFact>, "decode" | "encode" | "version">
  readonly held: ReturnType<HeadsHeld["of"]>
  readonly category: string
  revision: number
  hash: string
  /** Its chain was found broken: read alone it would be as well. */
  isBroken: boolean
  readonly checkpoint: KeptCheckpoint | null
  /** Decides a ledger again; null for other streams. */
  readonly ledger: LedgerReplay | null
  /** Folded where there is a checkpoint to compare. */
  state: unknown
}

/** A decider whose states are kept as checkpoints. */
export interface Folded {
  readonly decider: Decider<never, never, never, never>
  readonly checkpoint: CheckpointForm<never>
}

/** Categories beside the ledger that have checkpoints. */
export const FOLDED: Readonly<Record<string, Folded>> = {
  app: APP as unknown as Folded,
  recipient: RECIPIENT as unknown as Folded,
}

/** The codec of a stream; where no decider has such streams, reading by it says so. */
export function codecIn(stream: string): Seen["codec"] {
  try {
    return codecOfStream(stream)
  } catch (error) {
    const refuse = (): never => {
      throw error
    }
    return { decode: refuse, encode: refuse, version: refuse }
  }
}

/** What a fact's postings come to, micros: nothing. */
export function sumOf(fact: LedgerEvent): number {
  return postingsOf(fact).reduce((total, posting) => total + posting.amountMicros, 0)
}
