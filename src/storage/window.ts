import type { ProposedEvent } from "../../adapters/eventstore/port.ts"
import type { MovedEvent } from "./left-out.ts"

/**
 * What is under way at once: what the store inside PostgreSQL takes in one transaction, so that all of
 * it is stored or nothing.
 */
const MOST_EVENTS = 1_000
const MOST_APPENDS = 200
const MOST_BYTES = 1024 * 1024
/** What one append takes, unless a single event is larger. */
const APPEND_EVENTS = 500
const APPEND_BYTES = 512 * 1024

/** Events of one stream to be appended together. */
export interface ReadyAppend {
  readonly stream: string
  readonly events: readonly ProposedEvent[]
  readonly expectedRevision: number
}

interface OpenAppend extends ReadyAppend {
  readonly events: ProposedEvent[]
  bytes: number
}

/**
 * Appends that can be sent at once and keep their order: each to a stream of its own. Neighbours of
 * one stream share an append.
 */
export class Window {
  readonly #appends: OpenAppend[] = []
  readonly #streams = new Set<string>()
  #events = 0
  #bytes = 0

  /** What is to be sent, in order. */
  get appends(): readonly ReadyAppend[] {
    return this.#appends
  }

  /** Takes an event; false where it belongs into the next window. */
  add({ stream, revision, id, type, data, metadata }: MovedEvent): boolean {
    const event = { id, type, data, metadata }
    const bytes = Buffer.byteLength(data) + Buffer.byteLength(metadata) + 2 * type.length
    const isFull = this.#events >= MOST_EVENTS || this.#bytes + bytes > MOST_BYTES
    if (this.#events > 0 && isFull) return false
    const open = this.#appends.at(-1)
    if (open?.stream === stream && hasRoom(open, bytes)) {
      open.events.push(event)
      open.bytes += bytes
    } else {
      if (this.#streams.has(stream) || this.#appends.length >= MOST_APPENDS) return false
      this.#appends.push({ stream, events: [event], expectedRevision: revision - 1, bytes })
      this.#streams.add(stream)
    }
    this.#events += 1
    this.#bytes += bytes
    return true
  }
}

function hasRoom({ events, bytes }: OpenAppend, more: number): boolean {
  return events.length < APPEND_EVENTS && bytes + more <= APPEND_BYTES
}
