/** Reading a stream by itself, as it is read when something is decided on it. */
import type { EventStore } from "../../adapters/eventstore/port.ts"
import { DamagedStream } from "../../adapters/eventstore/port.ts"
import type { ChainEnd } from "../frame/writer/chain.ts"
import { CHAIN_START, nextHash } from "../frame/writer/chain.ts"
import type { Place } from "./findings.ts"

/**
 * The first place at which a stream, read by itself, is not whole or not what it was found to be among
 * all; null where it is. More may have come since.
 *
 * @param end how far it was found to go
 * @throws Unavailable where it cannot be read
 */
export async function streamFault(
  store: Pick<EventStore, "read">,
  stream: string,
  end: ChainEnd,
): Promise<Place | null> {
  let reached = CHAIN_START
  try {
    for await (const page of store.read(stream)) {
      for (const stored of page) {
        reached = { revision: stored.revision, hash: nextHash(stored, reached) }
        if (reached.revision !== end.revision || reached.hash === end.hash) continue
        const found = `the hash ${reached.hash}`
        return { stream, revision: end.revision, expected: `the hash ${end.hash}`, found }
      }
    }
  } catch (error) {
    if (error instanceof DamagedStream) return error.place
    throw error
  }
  if (reached.revision >= end.revision) return null
  const expected = `the fact that it has among all streams, which go on to ${end.revision}`
  return { stream, revision: reached.revision + 1, expected, found: "nothing" }
}
