/** Following the hash chains of many streams at once. */
import type { StoredEvent } from "../../adapters/eventstore/port.ts"
import type { ChainEnd } from "../frame/writer/chain.ts"
import { CHAIN_START, nextHash } from "../frame/writer/chain.ts"

/** An event without its place in the global order, which is each store's own. */
export type MovedEvent = Omit<StoredEvent, "position">

/** The chains of all streams, each followed as far as its events were seen; a line a stream in memory. */
export class Chains {
  readonly #ends = new Map<string, ChainEnd>()

  /** How many streams there are. */
  get streams(): number {
    return this.#ends.size
  }

  /** Takes the next event of its stream. @throws DamagedStream where it is not that, or was changed */
  follow(event: MovedEvent): void {
    const { stream, revision } = event
    const hash = nextHash(event, this.#ends.get(stream) ?? CHAIN_START)
    this.#ends.set(stream, { revision, hash })
  }
}
