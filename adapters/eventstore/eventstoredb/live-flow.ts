import type { ReadResp } from "@eventstore/db-client/generated/streams_pb.js"

import { Bell } from "../bell.ts"
import { comparePositions, type Position, type StoredEvent } from "../port.ts"
import { storedEvent } from "./records.ts"

/** When more than this waits for the subscriber, he is behind and has to read. */
const MAX_WAITING_EVENTS = 5_000
const MAX_WAITING_CHARACTERS = 4 * 1024 * 1024

/** A batch for the subscriber has at most so many events. */
const BATCH_EVENTS = 1_000

/** Events in order, perhaps none, and the place that they reach to. */
export interface Stretch {
  readonly events: readonly StoredEvent[]
  readonly end: Position
}

/**
 * What a subscription of the server sends, until it ends: all events that are not the server's own. It
 * keeps those that are wanted and the place of the newest, so that the subscriber hears of those he
 * leaves out. It never pauses the call, for the server drops whom it takes for too slow: it ends when
 * too much waits.
 */
export class LiveFlow {
  readonly #isWanted: (event: StoredEvent) => boolean
  readonly #news = new Bell()
  readonly #over = new AbortController()
  #waiting: StoredEvent[] = []
  #characters = 0
  #seen: Position
  #isLive = false
  #messages = 0

  /** It begins strictly after a place, of which the subscriber knows. */
  constructor(after: Position, isWanted: (event: StoredEvent) => boolean) {
    this.#seen = after
    this.#isWanted = isWanted
  }

  /** Aborts when it is over. */
  get over(): AbortSignal {
    return this.#over.signal
  }

  /** The place of the newest event that came. */
  get seen(): Position {
    return this.#seen
  }

  /** How many messages came, of whatever kind. */
  get messages(): number {
    return this.#messages
  }

  /** Whether the newest event that came is the head of the store, as far as the server has said. */
  get isLive(): boolean {
    return this.#isLive
  }

  /** Whether more came than what reaches to this place. */
  isPast(end: Position): boolean {
    return this.#waiting.length > 0 || comparePositions(this.#seen, end) > 0
  }

  /** Takes a message of the server. */
  take(message: ReadResp): void {
    this.#messages += 1
    if (message.hasCaughtUp()) this.confirmHead()
    const record = message.getEvent()?.getEvent()
    if (record !== undefined && !this.#over.signal.aborted) this.#add(storedEvent(record))
  }

  /** The newest event that came is known to be the head. */
  confirmHead(): void {
    this.#isLive = true
    this.#news.ring()
  }

  /** Ends it; what waits is dropped. */
  leave(): void {
    this.#over.abort()
    this.#waiting = []
    this.#news.ring()
  }

  /** Waits for news. */
  async news(): Promise<void> {
    await this.#news.wait(this.#over.signal)
  }

  /** Takes what waits for the subscriber, up to a batch. */
  next(): Stretch {
    const events = this.#waiting.slice(0, BATCH_EVENTS)
    this.#waiting = this.#waiting.slice(BATCH_EVENTS)
    if (this.#waiting.length === 0) this.#characters = 0
    const last = events.at(-1)
    const end = last === undefined || this.#waiting.length === 0 ? this.#seen : last.position
    return { events, end }
  }

  #add(event: StoredEvent): void {
    if (comparePositions(event.position, this.#seen) <= 0) return
    this.#seen = event.position
    if (this.#isWanted(event)) {
      this.#waiting.push(event)
      this.#characters += event.data.length + event.metadata.length
    }
    const isTooMuch =
      this.#waiting.length > MAX_WAITING_EVENTS || this.#characters > MAX_WAITING_CHARACTERS
    if (isTooMuch) this.leave()
    else this.#news.ring()
  }
}
