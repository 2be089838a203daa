/**
 * Follows the hash chains of all streams and separates proven events from those to hold back. An event is proven
 * if it has the next revision of its stream, carries the hash over the event before it and is a fact; after the
 * first unproven event, nothing of its stream is proven.
 */
import type { CorruptStreamEntry } from "../../../adapters/postgres/corrupt-streams/port.ts"
import { AccessDenied, CorruptStream } from "../../../adapters/eventstore/port.ts"
import type { EventStore } from "../../../adapters/eventstore/port.ts"
import { hashOfMetadata } from "../kernel/envelope.ts"
import type { ChainEnd } from "./runner/load.ts"
import { CHAIN_START, nextHash } from "./runner/load.ts"
import type { Streams, UnpositionedEvent } from "./streams.ts"

/** Maximum number of chain ends in memory, about 200 bytes each; the most recently used stay. */
const MAX_CHAIN_ENDS = 100_000
/** Number of chain ends that are looked up concurrently. */
const LOOKUPS = 16
/** Type of the event that EventStoreDB adds to a permanently deleted stream. */
const TOMBSTONE = "$streamDeleted"

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

/** Proven events, and events that are held back. */
export interface ProofResult<E> {
  readonly proven: readonly E[]
  readonly heldBack: readonly E[]
}

/** What a proof works with. */
export interface ProofPorts {
  readonly streams: Pick<Streams, "faultOf">
  readonly heldBackStreams: HeldBackStreams
  /** Finds the end of a chain that is not in memory; absent if all chains are followed from revision 0. */
  readonly findChainEnd?: (stream: string, revision: number) => Promise<ChainEnd | null>
}

/** Proves events in global order. Each pass over the events needs its own. */
export class StreamProof<E extends UnpositionedEvent> {
  readonly #ports: ProofPorts
  readonly #ends = new Map<string, ChainEnd>()

  constructor(ports: ProofPorts) {
    this.#ports = ports
  }

  /** Proves the next events. @throws the errors of `findChainEnd`; the call can be repeated */
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

  /** Advances the end of a chain to an event, or returns the fault. */
  #follow(event: E): CorruptStreamEntry | null {
    const { stream, revision, type } = event
    const end = this.#ends.get(stream) ?? CHAIN_START
    const isUnknown = !this.#ends.has(stream) && revision > 0
    if (type === TOMBSTONE) {
      const after = end.revision === CHAIN_START.revision ? null : end.revision + 1
      return { stream, revision: after, reason: "the stream was deleted in the event store" }
    }
    if (isUnknown && this.#ports.findChainEnd !== undefined) {
      return { stream, revision, reason: `revision ${revision - 1} is missing` }
    }
    const reason = this.#faultAt(event, end)
    if (reason !== null) return { stream, revision: end.revision + 1, reason }
    return null
  }

  #faultAt(event: E, end: ChainEnd): string | null {
    const fault = this.#ports.streams.faultOf(event)
    if (fault !== null) return `found ${fault}`
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

  /** Looks up the chain ends before some events that are not in memory. */
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
 * Returns a function that reads the hash of an event from a store. Null if the event is not shown, for example
 * because the store denies its stream, or carries no hash.
 *
 * @throws Unavailable; AccessDenied if the store denies everything
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
