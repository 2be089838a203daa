/** What an audit knows of a stream while it reads all of them. */
import type { LedgerEvent } from "../../domain/charging/ledger-events.ts"
import { postingsOf } from "../../domain/charging/postings.ts"
import type { Codec } from "../../domain/kernel/format.ts"
import type { AnyFact } from "../../domain/kernel/facts.ts"
import type { KeptCheckpoint } from "../frame/operator/operation.ts"
import type { Folded, Streams } from "../frame/writer/streams.ts"
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
  /** How many of its facts are written in an earlier form of their type. */
  formerForms: number
  readonly checkpoint: KeptCheckpoint | null
  /** The hash of the event that the checkpoint is of; null until that was read. */
  hashOfCheckpoint: string | null
  /** Decides a ledger again; null for other streams. */
  readonly ledger: LedgerReplay | null
  /** How it is folded and kept; null for streams without checkpoints. */
  readonly folded: Folded | null
  /** Folded where there is a checkpoint to compare. */
  state: unknown
}

/** The codec of a stream; where no decider has such streams, reading by it says so. */
export function codecIn(streams: Streams, stream: string): Seen["codec"] {
  try {
    return streams.codecOf(stream)
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
