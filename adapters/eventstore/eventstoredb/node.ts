import type { Position, SeenEvent } from "../port.ts"
import { comparePositions, later, START, Unavailable, marksDeletion } from "../port.ts"

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

/**
 * What this process knows of the order of a server's events. It only moves forward, through whichever node,
 * connection or caller: a search starts after it, and a node that shows less is not up to date.
 */
export class KnownPlaces {
  #newest: Position = START
  #searched: Position = START
  #proof: SeenEvent | null = null
  readonly #proves: (event: SeenEvent) => boolean

  /** `proves` says whether streams of this name are ours alone: those of others may be deleted. */
  constructor(proves: (stream: string) => boolean) {
    // The mark of a deleted stream has a revision that no read may name.
    this.#proves = (event) => !marksDeletion(event) && proves(event.stream)
  }

  /** The newest event, but for the server's own, that was shown or acknowledged. */
  get newest(): Position {
    return this.#newest
  }

  /** Behind this place it is not known what there is. */
  get end(): Position {
    return later(this.#newest, this.#searched)
  }

  /** The newest event that proves which store it is: it has to be there, at its place, for ever. */
  get proof(): SeenEvent | null {
    return this.#proof
  }

  /**
   * Events that are not the server's own were shown or acknowledged, up to a place.
   *
   * @param events in the order of their places or against it, some of them or none
   */
  saw(place: Position, events: readonly SeenEvent[]): void {
    this.#newest = later(this.#newest, place)
    const first = events.find(this.#proves)
    const last = events.findLast(this.#proves)
    for (const event of [first, last]) {
      if (event === undefined) continue
      const { position } = this.#proof ?? { position: START }
      if (comparePositions(position, event.position) < 0) this.#proof = pick(event)
    }
  }

  /** Up to this place, nothing but the server's own events is behind `newest`. */
  searchedTo(place: Position): void {
    this.#searched = later(this.#searched, place)
  }
}

/** An event without its text. */
function pick({ stream, revision, id, position }: SeenEvent): SeenEvent {
  return { stream, revision, id, position }
}
