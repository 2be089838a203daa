import { later, type Position, START } from "../port.ts"

/**
 * What this process knows of the order of a server's events. It only ever goes forward, whichever
 * node, connection or caller it was seen by; so it is enough to look behind it, and whoever shows less
 * is not up to date.
 */
export class KnownPlaces {
  #newest: Position = START
  #searched: Position = START

  /** The newest event, but for the server's own, that was shown or acknowledged. */
  get newest(): Position {
    return this.#newest
  }

  /** Behind this place it is not known what there is. */
  get end(): Position {
    return later(this.#newest, this.#searched)
  }

  /** The last event that was stored from here: it has to be there, at its place, for ever. */
  stored: { readonly place: Position; readonly id: string } | null = null

  /** An event that is not the server's own was shown or acknowledged. */
  saw(place: Position): void {
    this.#newest = later(this.#newest, place)
  }

  /** Up to this place, nothing but the server's own events is behind `newest`. */
  searchedTo(place: Position): void {
    this.#searched = later(this.#searched, place)
  }
}
