import type { ReadResp } from "@eventstore/db-client/generated/streams_pb.js"

import { Bell } from "../waiting.ts"
import { comparePositions, type Position, type StoredEvent } from "../port.ts"
import { storedEvent } from "./records.ts"

/** When more than this waits for the subscriber, he is behind and has to read. */
const MAX_WAITING_EVENTS = 2_000
const MAX_WAITING_CHARACTERS = 4 * 1024 * 1024

/** A batch for the subscriber has at most so many events. */
const BATCH_EVENTS = 1_000

/** Events in order, perhaps none, and the place that they reach to. */
interface Stretch {
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
  #waiting: StoredEvent[] = []
  #characters = 0
  #seen: Position
  #isOver = false
  /** Called once when it is over. */
  onOver: () => void = () => undefined

  /** It begins strictly after a place, of which the subscriber knows. */
  constructor(after: Position, isWanted: (event: StoredEvent) => boolean) {
    this.#seen = after
    this.#isWanted = isWanted
  }

  /** Whether nothing more comes. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** Whether more came than what reaches to this place. */
  isPast(place: Position): boolean {
    return this.#waiting.length > 0 || comparePositions(this.#seen, place) > 0
  }

  /** Takes a message of the server. */
  take(message: ReadResp): void {
    const record = message.getEvent()?.getEvent()
    if (record === undefined || this.#isOver) return
    const event = storedEvent(record)
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

  /** Ends it; what waits is dropped. */
  leave(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#waiting = []
    this.onOver()
    this.#news.ring()
  }

  /** Waits for news, and for no longer than so many milliseconds; answers whether there is any. */
  async news(withinMs: number): Promise<boolean> {
    const bored = new AbortController()
    const timer = setTimeout(() => bored.abort(), withinMs)
    await this.#news.wait(bored.signal)
    clearTimeout(timer)
    return !bored.signal.aborted
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
}
