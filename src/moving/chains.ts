/** Following the hash chains of many streams at once. */
import type { StoredEvent } from "../../adapters/eventstore/port.ts"
import { NO_HASH, expectedHash, readMetadata } from "../envelope.ts"

/** An event without its place in the global order, which is each store's own. */
export type MovedEvent = Omit<StoredEvent, "position">

/** A stream's chain of hashes is not whole. The message names the place. */
export class BrokenChain extends Error {
  override readonly name = "BrokenChain"
}

/** The chains of all streams, each followed as far as its events were seen; a line a stream in memory. */
export class Chains {
  readonly #ends = new Map<string, { readonly revision: number; readonly hash: string }>()

  /** How many streams there are. */
  get streams(): number {
    return this.#ends.size
  }

  /** Takes the next event of its stream. @throws BrokenChain where it is not that, or was changed */
  follow(event: MovedEvent): void {
    const { stream, revision } = event
    const end = this.#ends.get(stream) ?? { revision: -1, hash: NO_HASH }
    const place = `${stream} revision ${revision}`
    if (revision !== end.revision + 1) {
      throw new BrokenChain(`${place}: revision ${end.revision + 1} is missing before it`)
    }
    const hash = expectedHash(event, end.hash)
    const stored = hashIn(event, place)
    if (stored !== hash) throw new BrokenChain(`${place}: its hash is ${stored}, not ${hash}`)
    this.#ends.set(stream, { revision, hash })
  }
}

function hashIn({ metadata }: MovedEvent, place: string): string {
  try {
    return readMetadata(metadata).hash
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new BrokenChain(`${place}: ${why}`, { cause: error })
  }
}
