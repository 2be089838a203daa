import type { Projection } from "../../../projections/kernel/projection.ts"
import type { Position, StoredEvent } from "../../eventstore/port.ts"
import { comparePositions, later } from "../../eventstore/port.ts"
import { factsOf } from "./facts.ts"

/** What the reader handed over to one read model. */
export class Handed {
  readonly #projection: Projection
  /** Everything up to here was handed over. */
  seen: Position
  /** The last of the read model's facts that was handed over, or written before. */
  lastFact: Position
  /** The last of its facts that were stored when it began; null until all of them were handed over. */
  #lastAtFirst: Position | null = null
  /** The last event that was handed over; null where none was. */
  last: StoredEvent | null = null
  /** Events since the last fact. */
  passed = 0

  constructor(projection: Projection, stored: Position) {
    this.#projection = projection
    this.seen = stored
    this.lastFact = stored
  }

  /** Takes events in global order; gives the facts among them that were not handed over before. */
  take(events: readonly StoredEvent[]): StoredEvent[] {
    const fresh = events.filter((event) => comparePositions(event.position, this.seen) > 0)
    const facts = factsOf(this.#projection, fresh)
    this.last = fresh.at(-1) ?? this.last
    this.seen = fresh.at(-1)?.position ?? this.seen
    this.lastFact = facts.at(-1)?.position ?? this.lastFact
    this.passed = facts.length > 0 ? 0 : this.passed + fresh.length
    return facts
  }

  /** Everything up to here was handed over. */
  reached(head: Position): void {
    this.seen = later(this.seen, head)
    this.#lastAtFirst ??= this.lastFact
  }

  /** Whether all of its facts that were stored when it began are written, with those up to here. */
  hasCaughtUp(written: Position): boolean {
    return this.#lastAtFirst !== null && comparePositions(this.#lastAtFirst, written) <= 0
  }
}
