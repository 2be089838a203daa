import {
  comparePositions,
  later,
  marksDeletion,
  type Position,
  type SeenEvent,
  START,
} from "../port.ts"

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
