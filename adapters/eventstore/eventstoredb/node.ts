import {
  comparePositions,
  later,
  type Position,
  type SeenEvent,
  START,
  Unavailable,
} from "../port.ts"
import type { KnownPlaces } from "./known-places.ts"

/** What a node is asked, and what is done with one that is behind. */
interface NodeWays {
  /** Reads the newest event's place, the server's own included. */
  readonly end: () => Promise<Position>
  /** Whether it holds an event where it was seen. */
  readonly mayHold: (event: SeenEvent) => Promise<boolean>
  /** Called when it turns out to be behind: the next caller looks for another node. */
  readonly onBehind: (why: string) => void
}

/** A node as one connection to it was seen. */
export class Node {
  readonly #known: KnownPlaces
  readonly #ways: NodeWays
  /** It has everything up to here. */
  #shown: Position = START

  /** Nothing was asked of it yet. */
  constructor(known: KnownPlaces, ways: NodeWays) {
    this.#known = known
    this.#ways = ways
  }

  /** The newest event's place, the server's own included. @throws Unavailable, AccessDenied */
  async end(): Promise<Position> {
    const place = await this.#ways.end()
    this.#shown = later(this.#shown, place)
    return place
  }

  /** It has shown, or acknowledged, events that are not the server's own, up to a place. */
  saw(place: Position, events: readonly SeenEvent[]): void {
    this.#shown = later(this.#shown, place)
    this.#known.saw(place, events)
  }

  /**
   * Sees, before anything else is asked of it, that it is as far as what this process knows, and that it
   * is the same history: an older copy that others went on with may be longer by now.
   *
   * @throws Unavailable where it is not
   */
  async greet(): Promise<void> {
    await this.hold(this.#known.newest)
    const { proof } = this.#known
    if (proof === null || (await this.#ways.mayHold(proof))) return
    throw this.#behind(
      `the event store does not hold at ${proof.position.commit} what was seen there: it is an older copy, ` +
        "or another store",
    )
  }

  /**
   * Sees that what it answered can be relied on: it has everything up to a place that this process knew
   * of before it asked. A leader that was frozen, and does not know yet that another one leads, answers
   * reads from before; so does an older copy that was put in the place of a server.
   *
   * @throws Unavailable where it has not
   */
  async hold(place: Position): Promise<void> {
    const isKnown = comparePositions(this.#shown, place) >= 0 && this.#shown !== START
    if (isKnown || comparePositions(await this.end(), place) >= 0) return
    throw this.#behind(
      `the event store ends at ${this.#shown.commit}, and ${place.commit} was seen in it before: it is ` +
        "an older copy, or a node that is behind its cluster",
    )
  }

  #behind(why: string): Unavailable {
    this.#ways.onBehind(why)
    return new Unavailable(why)
  }
}
