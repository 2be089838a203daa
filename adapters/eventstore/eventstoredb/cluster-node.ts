import type { Position, SeenEvent } from "../port.ts"
import { comparePositions, laterPosition, START, Unavailable, isDeletionMark } from "../port.ts"

interface NodeOperations {
  /** Reads the position of the newest event, including the server's own. */
  readonly readEnd: () => Promise<Position>
  /** Returns false if the node provably lacks an event that was seen. */
  readonly mayContain: (event: SeenEvent) => Promise<boolean>
  /** Called when the node is behind: the next caller must use another node. */
  readonly onStale: (why: string) => void
}

/** A node, as seen over one connection. */
export class ClusterNode {
  readonly #knownPositions: KnownPositions
  readonly #operations: NodeOperations
  #seenUpTo: Position = START

  constructor(known: KnownPositions, operations: NodeOperations) {
    this.#knownPositions = known
    this.#operations = operations
  }

  /** Returns the position of the newest event, including the server's own. @throws Unavailable, AccessDenied */
  async readEnd(): Promise<Position> {
    const position = await this.#operations.readEnd()
    this.#seenUpTo = laterPosition(this.#seenUpTo, position)
    return position
  }

  noteSeen(position: Position, events: readonly SeenEvent[]): void {
    this.#seenUpTo = laterPosition(this.#seenUpTo, position)
    this.#knownPositions.noteSeen(position, events)
  }

  /**
   * Checks, before any other request, that the node has everything this process knows of, in the
   * same history: an older copy that others appended to may be longer.
   *
   * @throws Unavailable if it does not
   */
  async verifyHistory(): Promise<void> {
    await this.requirePosition(this.#knownPositions.newest)
    const { identityProof } = this.#knownPositions
    if (identityProof === null || (await this.#operations.mayContain(identityProof))) return
    throw this.#stale(
      `The event store lost the event that was seen at ${identityProof.position.commit}: it is an older copy, ` +
        "or another store",
    )
  }

  /**
   * Checks that an answer is reliable: the node has everything up to a position that this process knew before the
   * request. A frozen leader that was replaced, and an older copy, answer reads with old data.
   *
   * @throws Unavailable if it does not
   */
  async requirePosition(position: Position): Promise<void> {
    const isKnown = comparePositions(this.#seenUpTo, position) >= 0 && this.#seenUpTo !== START
    if (isKnown || comparePositions(await this.readEnd(), position) >= 0) return
    throw this.#stale(
      `The event store ends at ${this.#seenUpTo.commit}, but ${position.commit} was read from it before: it is ` +
        "an older copy, or a node that is behind its cluster",
    )
  }

  #stale(why: string): Unavailable {
    this.#operations.onStale(why)
    return new Unavailable(why)
  }
}

/**
 * The parts of a server's global order that this process knows, across all nodes and connections.
 * They only grow: searches start after them, and a node that shows less is stale.
 */
export class KnownPositions {
  #newest: Position = START
  #searchedUpTo: Position = START
  #identityProof: SeenEvent | null = null
  readonly #isIdentityProof: (event: SeenEvent) => boolean

  /** `isOwnStream` returns whether only this program writes to a stream: other streams may be deleted. */
  constructor(isOwnStream: (stream: string) => boolean) {
    // No read accepts the revision that marks a deleted stream.
    this.#isIdentityProof = (event) => !isDeletionMark(event) && isOwnStream(event.stream)
  }

  /** Position of the newest event returned or acknowledged, except the server's own. */
  get newest(): Position {
    return this.#newest
  }

  /** Events after this position are unknown. */
  get knownUpTo(): Position {
    return laterPosition(this.#newest, this.#searchedUpTo)
  }

  /** The newest event that identifies the store: it must exist at its position forever. */
  get identityProof(): SeenEvent | null {
    return this.#identityProof
  }

  /**
   * Records that events that are not the server's own were returned or acknowledged, up to a position.
   *
   * @param events some of them or none, in ascending or descending order
   */
  noteSeen(position: Position, events: readonly SeenEvent[]): void {
    this.#newest = laterPosition(this.#newest, position)
    const first = events.find(this.#isIdentityProof)
    const last = events.findLast(this.#isIdentityProof)
    for (const event of [first, last]) {
      if (event === undefined) continue
      const known = this.#identityProof?.position ?? START
      if (comparePositions(known, event.position) < 0) this.#identityProof = withoutContent(event)
    }
  }

  /** Records that up to this position only the server's own events follow `newest`. */
  noteSearched(position: Position): void {
    this.#searchedUpTo = laterPosition(this.#searchedUpTo, position)
  }
}

function withoutContent({ stream, revision, id, position }: SeenEvent): SeenEvent {
  return { stream, revision, id, position }
}
