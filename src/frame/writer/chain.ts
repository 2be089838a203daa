/** Following a stream's chain: revisions without a gap, and each fact's hash over the one before it. */
import type { StoredEvent } from "../../../adapters/eventstore/port.ts"
import {
  DamagedStream,
  NO_STREAM,
  marksDeletion,
  revisionText,
} from "../../../adapters/eventstore/port.ts"
import { NO_HASH, carriesHash, expectedHash, hashIn } from "../kernel/envelope.ts"

/** How far a chain was followed: the last revision and its hash. */
export interface ChainEnd {
  readonly revision: number
  readonly hash: string
}

/** The end of a chain of which nothing was followed yet. */
export const CHAIN_START: ChainEnd = { revision: NO_STREAM, hash: NO_HASH }

/**
 * The hash of an event that is the next of its chain.
 *
 * @throws DamagedStream where it is not: something before it is gone, or it was changed
 */
export function nextHash(event: Omit<StoredEvent, "position">, end: ChainEnd): string {
  const { stream, revision, metadata } = event
  if (revision !== end.revision + 1) {
    const expected = `revision ${end.revision + 1}`
    const found = `revision ${revisionText(revision)}`
    // The mark of a deleted stream stands behind its end, and has no revision that a number can be.
    const at = marksDeletion(event) ? end.revision + 1 : revision
    throw new DamagedStream({ stream, revision: at, expected, found })
  }
  const expected = expectedHash(event, end.hash)
  if (carriesHash(metadata, expected)) return expected
  const carried = hashIn(metadata)
  const found = carried === null ? "none" : `the hash ${carried}`
  throw new DamagedStream({ stream, revision, expected: `the hash ${expected}`, found })
}
