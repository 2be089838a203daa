/** Reading streams by themselves, as they are read when something is decided on them. */
import type { StoredEvent } from "../../adapters/eventstore/port.ts"
import { AccessDenied, DamagedStream } from "../../adapters/eventstore/port.ts"
import type { KeptCheckpoint } from "../frame/operator/operation.ts"
import type { ChainEnd } from "../frame/writer/chain.ts"
import { CHAIN_START, nextHash } from "../frame/writer/chain.ts"
import type { AuditPorts } from "./audit-scope.ts"
import type { Place } from "./findings.ts"

/** So many streams are opened together: a store can answer for all of them at once. */
const OPENED_TOGETHER = 64

type Page = IteratorResult<readonly StoredEvent[], unknown>

/** A stream whose first page is here. */
export interface OpenedStream {
  readonly stream: string
  readonly checkpoint: KeptCheckpoint | null
  /** Gives the first page. @throws DamagedStream, AccessDenied where the store does not show the stream */
  readonly first: () => Page
  readonly rest: AsyncIterator<readonly StoredEvent[]>
}

/**
 * Opens streams in this order, with what is kept of each. While some are worked on, the next ones come.
 * The read of each stream ends before the next one is given, and all of them when the caller stops.
 *
 * @throws Unavailable, AccessDenied where no stream can be read, and the signal's reason
 */
export async function* openedStreams(
  ports: Pick<AuditPorts, "store" | "checkpointOf">,
  names: Iterator<string, unknown>,
  signal: AbortSignal,
): AsyncGenerator<OpenedStream> {
  const reads = new Set<OpenedStream["rest"]>()
  const end = async (rest: OpenedStream["rest"]) => {
    reads.delete(rest)
    await rest.return?.()
  }
  const openNext = (): Promise<readonly OpenedStream[]> => {
    const opening: Promise<OpenedStream>[] = []
    while (opening.length < OPENED_TOGETHER) {
      const { done, value } = names.next()
      if (done === true) break
      const rest = ports.store.read(value)[Symbol.asyncIterator]()
      reads.add(rest)
      opening.push(openOne(ports, value, rest))
    }
    const all = Promise.all(opening)
    // It is awaited once the streams before it are done with, or never where one of those fails.
    all.catch(() => undefined)
    return all
  }
  try {
    let next = openNext()
    for (;;) {
      const opened = await next
      if (opened.length === 0) return
      next = openNext()
      // Work without a pause would keep the next question from being sent.
      await new Promise(setImmediate)
      for (const one of opened) {
        signal.throwIfAborted()
        yield one
        await end(one.rest)
      }
    }
  } finally {
    // A read that is left open keeps its call to the server open.
    await Promise.all([...reads].map(end))
  }
}

async function openOne(
  { store, checkpointOf }: Pick<AuditPorts, "store" | "checkpointOf">,
  stream: string,
  rest: OpenedStream["rest"],
): Promise<OpenedStream> {
  const [checkpoint, first] = await Promise.all([checkpointOf(stream), firstOf(store, rest)])
  return { stream, checkpoint, first, rest }
}

/** Reads the first page. What the store says of a stream that it does not show is kept for its reader. */
async function firstOf(
  store: AuditPorts["store"],
  pages: AsyncIterator<readonly StoredEvent[]>,
): Promise<OpenedStream["first"]> {
  try {
    const page = await pages.next()
    return () => page
  } catch (error) {
    // Where the store denies everything, its head is denied as well.
    if (error instanceof AccessDenied) await store.head()
    else if (!(error instanceof DamagedStream)) throw error
    return () => {
      throw error
    }
  }
}

/**
 * Hands over a stream's events up to where it was found to go among all, and answers the first place at
 * which it is not whole, or not the same; null where it is. More may have come since: `last` is the last
 * revision that is there.
 *
 * @param end how far it was found to go
 * @param isBroken whether its chain is known to be broken: then it is only handed over
 * @throws Unavailable where it cannot be read
 */
export async function readAlone(
  { stream, first, rest }: OpenedStream,
  end: ChainEnd,
  isBroken: boolean,
  take: (stored: StoredEvent) => void,
): Promise<{ readonly place: Place | null; readonly last: number }> {
  let reached = CHAIN_START
  try {
    for (let page = first(); page.done !== true; page = await rest.next()) {
      for (const stored of page.value) {
        const { revision } = stored
        reached = { revision, hash: isBroken ? end.hash : nextHash(stored, reached) }
        if (revision <= end.revision) take(stored)
        if (revision !== end.revision || reached.hash === end.hash) continue
        const found = `the hash ${reached.hash}`
        const place = { stream, revision, expected: `the hash ${end.hash}`, found }
        return { place, last: revision }
      }
    }
  } catch (error) {
    if (error instanceof DamagedStream) return { place: error.place, last: reached.revision }
    if (!(error instanceof AccessDenied)) throw error
    const found = "that the event store denies reading it"
    const place = { stream, revision: reached.revision + 1, expected: "its facts", found }
    return { place, last: reached.revision }
  }
  if (isBroken || reached.revision >= end.revision) return { place: null, last: reached.revision }
  const expected = `the fact that it has among all streams, which go on to ${end.revision}`
  const place = { stream, revision: reached.revision + 1, expected, found: "nothing" }
  return { place, last: reached.revision }
}
