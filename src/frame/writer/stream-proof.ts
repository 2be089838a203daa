/**
 * Following the chains of all streams as their events come, and telling the proven events from those that
 * are held back: an event is proven where it has the next revision of its stream, carries the hash over
 * the event before it, and is a fact. Behind the first that is not, nothing of its stream is proven.
 */
import type { CorruptStreamEntry } from "../../../adapters/postgres/corrupt-streams/port.ts"
import { AccessDenied, CorruptStream } from "../../../adapters/eventstore/port.ts"
import type { EventStore } from "../../../adapters/eventstore/port.ts"
import { hashOfMetadata } from "../kernel/envelope.ts"
import type { ChainEnd } from "./runner/load.ts"
import { CHAIN_START, nextHash } from "./runner/load.ts"
import type { Streams, UnpositionedEvent } from "./streams.ts"

/** The ends of so many chains are in memory, about 200 bytes each; those used last. */
const MAX_CHAIN_ENDS = 100_000
/** So many ends are looked up in the store concurrently. */
const LOOKUPS = 16
/** The type of the event that EventStoreDB puts behind a stream that was deleted for good. */
const TOMBSTONE = "$streamDeleted"

/** The streams that are held back. */
export interface HeldBackStreams {
  readonly get: (stream: string) => CorruptStreamEntry | null
  /** Holds back a stream from now on. */
  readonly holdBack: (found: CorruptStreamEntry) => void
}

/** Whether an event of a stream is held back already. */
export function isHeldBack(
  held: Pick<HeldBackStreams, "get">,
  stream: string,
  revision: number,
): boolean {
  const from = held.get(stream)?.revision
  return typeof from === "number" && revision >= from
}

/** Events that are proven, and those that are held back. */
export interface ProofResult<E> {
  readonly proven: readonly E[]
  readonly heldBack: readonly E[]
}

/** What a proof works with. */
export interface ProofPorts {
  readonly streams: Pick<Streams, "faultOf">
  readonly heldBackStreams: HeldBackStreams
  /** Finds how far a chain goes that was not followed from its beginning; absent where all are. */
  readonly findChainEnd?: (stream: string, revision: number) => Promise<ChainEnd | null>
}

/** Proves events that come in global order. One for each pass over them. */
export class StreamProof<E extends UnpositionedEvent> {
  readonly #ports: ProofPorts
  readonly #ends = new Map<string, ChainEnd>()

  constructor(ports: ProofPorts) {
    this.#ports = ports
  }

  /** Judges the next events. @throws what looking up the end of a chain throws: call it again */
  async prove(events: readonly E[]): Promise<ProofResult<E>> {
    await this.#lookUp(events)
    const proven: E[] = []
    const heldBack: E[] = []
    for (const event of events) {
      if (this.#isProven(event)) proven.push(event)
      else heldBack.push(event)
    }
    this.#forget()
    return { proven, heldBack }
  }

  #isProven(event: E): boolean {
    if (this.#isHeld(event)) return false
    const fault = this.#follow(event)
    if (fault === null) return true
    this.#ends.delete(fault.stream)
    this.#ports.heldBackStreams.holdBack(fault)
    return false
  }

  #isHeld({ stream, revision }: E): boolean {
    return isHeldBack(this.#ports.heldBackStreams, stream, revision)
  }

  /** Moves the end of a chain on to an event; else says what is wrong with it. */
  #follow(event: E): CorruptStreamEntry | null {
    const { stream, revision, type } = event
    const end = this.#ends.get(stream) ?? CHAIN_START
    const isUnknown = !this.#ends.has(stream) && revision > 0
    if (type === TOMBSTONE) {
      const after = end.revision === CHAIN_START.revision ? null : end.revision + 1
      return { stream, revision: after, reason: "the stream was deleted in the event store" }
    }
    if (isUnknown && this.#ports.findChainEnd !== undefined) {
      return { stream, revision, reason: `revision ${revision - 1} before it is not shown` }
    }
    const reason = this.#faultAt(event, end)
    if (reason !== null) return { stream, revision: end.revision + 1, reason }
    return null
  }

  #faultAt(event: E, end: ChainEnd): string | null {
    const fault = this.#ports.streams.faultOf(event)
    if (fault !== null) return `${fault} stands there`
    try {
      const hash = nextHash(event, end)
      this.#ends.delete(event.stream)
      this.#ends.set(event.stream, { revision: event.revision, hash })
      return null
    } catch (error) {
      if (!(error instanceof CorruptStream)) throw error
      const { expected, found } = error.corruption
      return `expected ${expected}, found ${found}`
    }
  }

  /** Looks up the ends of the chains that some events go on with, where they are not in memory. */
  async #lookUp(events: readonly E[]): Promise<void> {
    const { findChainEnd } = this.#ports
    if (findChainEnd === undefined) return
    const wanted = new Map<string, number>()
    const seen = new Set<string>()
    for (const event of events) {
      const { stream, revision, type } = event
      if (seen.has(stream)) continue
      seen.add(stream)
      const isNeeded = revision > 0 && type !== TOMBSTONE && !this.#ends.has(stream)
      if (isNeeded && !this.#isHeld(event)) wanted.set(stream, revision - 1)
    }
    const all = [...wanted]
    for (let i = 0; i < all.length; i += LOOKUPS) {
      await Promise.all(
        all.slice(i, i + LOOKUPS).map(async ([stream, revision]) => {
          const end = await findChainEnd(stream, revision)
          if (end !== null) this.#ends.set(stream, end)
        }),
      )
    }
  }

  #forget(): void {
    for (const stream of this.#ends.keys()) {
      if (this.#ends.size <= MAX_CHAIN_ENDS || this.#ports.findChainEnd === undefined) return
      this.#ends.delete(stream)
    }
  }
}

/**
 * Finds in a store how far a chain goes, by the hash that its event carries; null where that event is not
 * shown, such as by a stream that the store denies, or carries none.
 *
 * @throws Unavailable; AccessDenied where the store denies everything
 */
export function chainEndsIn(
  store: Pick<EventStore, "read" | "head">,
): NonNullable<ProofPorts["findChainEnd"]> {
  return async (stream, revision) => {
    try {
      for await (const [event] of store.read(stream, { from: revision, limit: 1 })) {
        const hash = event?.revision === revision ? hashOfMetadata(event.metadata) : null
        return hash === null ? null : { revision, hash }
      }
    } catch (error) {
      if (error instanceof AccessDenied) await store.head()
      else if (!(error instanceof CorruptStream)) throw error
    }
    return null
  }
}
