import type { Position, SeenEvent } from "../port.ts"
import { comparePositions, laterPosition, START, Unavailable, isDeletionMark } from "../port.ts"

/** What a node is asked, and what is done with one that is behind. */
interface NodeOperations {
  /** Reads the newest event's place, the server's own included. */
  readonly readEnd: () => Promise<Position>
  /** Whether it holds an event where it was seen. */
  readonly mayContain: (event: SeenEvent) => Promise<boolean>
  /** Called when it turns out to be behind: the next caller looks for another node. */
  readonly onStale: (why: string) => void
}

/** A node as one connection to it was seen. */
export class ClusterNode {
  readonly #knownPositions: KnownPositions
  readonly #operations: NodeOperations
  /** It has everything up to here. */
  #seenUpTo: Position = START

  /** Nothing was asked of it yet. */
  constructor(known: KnownPositions, ways: NodeOperations) {
    this.#knownPositions = known
    this.#operations = ways
  }

  /** The newest event's place, the server's own included. @throws Unavailable, AccessDenied */
  async readEnd(): Promise<Position> {
    const place = await this.#operations.readEnd()
    this.#seenUpTo = laterPosition(this.#seenUpTo, place)
    return place
  }

  /** It has shown, or acknowledged, events that are not the server's own, up to a place. */
  noteSeen(place: Position, events: readonly SeenEvent[]): void {
    this.#seenUpTo = laterPosition(this.#seenUpTo, place)
    this.#knownPositions.noteSeen(place, events)
  }

  /**
   * Sees, before anything else is asked of it, that it is as far as what this process knows, and that it
   * is the same history: an older copy that others went on with may be longer by now.
   *
   * @throws Unavailable where it is not
   */
  async verifyHistory(): Promise<void> {
    await this.requirePosition(this.#knownPositions.newest)
    const { identityProof } = this.#knownPositions
    if (identityProof === null || (await this.#operations.mayContain(identityProof))) return
    throw this.#stale(
      `the event store does not hold at ${identityProof.position.commit} what was seen there: it is an older copy, ` +
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
  async requirePosition(place: Position): Promise<void> {
    const isKnown = comparePositions(this.#seenUpTo, place) >= 0 && this.#seenUpTo !== START
    if (isKnown || comparePositions(await this.readEnd(), place) >= 0) return
    throw this.#stale(
      `the event store ends at ${this.#seenUpTo.commit}, and ${place.commit} was seen in it before: it is ` +
        "an older copy, or a node that is behind its cluster",
    )
  }

  #stale(why: string): Unavailable {
    this.#operations.onStale(why)
    return new Unavailable(why)
  }
}

/**
 * What this process knows of the order of a server's events. It only moves forward, through whichever node,
 * connection or caller: a search starts after it, and a node that shows less is not up to date.
 */
export class KnownPositions {
  #newest: Position = START
  #searchedUpTo: Position = START
  #identityProof: SeenEvent | null = null
  readonly #isIdentityProof: (event: SeenEvent) => boolean

  /** `proves` says whether streams of this name are ours alone: those of others may be deleted. */
  constructor(proves: (stream: string) => boolean) {
    // The mark of a deleted stream has a revision that no read may name.
    this.#isIdentityProof = (event) => !isDeletionMark(event) && proves(event.stream)
  }

  /** The newest event, but for the server's own, that was shown or acknowledged. */
  get newest(): Position {
    return this.#newest
  }

  /** Behind this place it is not known what there is. */
  get knownUpTo(): Position {
    return laterPosition(this.#newest, this.#searchedUpTo)
  }

  /** The newest event that proves which store it is: it has to be there, at its place, for ever. */
  get identityProof(): SeenEvent | null {
    return this.#identityProof
  }

  /**
   * Events that are not the server's own were shown or acknowledged, up to a place.
   *
   * @param events in the order of their places or against it, some of them or none
   */
  noteSeen(place: Position, events: readonly SeenEvent[]): void {
    this.#newest = laterPosition(this.#newest, place)
    const first = events.find(this.#isIdentityProof)
    const last = events.findLast(this.#isIdentityProof)
    for (const event of [first, last]) {
      if (event === undefined) continue
      const { position } = this.#identityProof ?? { position: START }
      if (comparePositions(position, event.position) < 0)
        this.#identityProof = withoutContent(event)
    }
  }

  /** Up to this place, nothing but the server's own events is behind `newest`. */
  noteSearched(place: Position): void {
    this.#searchedUpTo = laterPosition(this.#searchedUpTo, place)
  }
}

/** An event without its text. */
function withoutContent({ stream, revision, id, position }: SeenEvent): SeenEvent {
  return { stream, revision, id, position }
}
