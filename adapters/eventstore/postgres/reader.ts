import type pg from "pg"

import { type EventPage, type SequenceNumber, positionFromSequence } from "../follow.ts"
import { batchCalls } from "../../machine/promises.ts"
import type { ReadRange, StoredEvent } from "../port.ts"
import { MAX_REVISION } from "../create-event-store.ts"
import { storeErrorFromPostgres } from "./store-database.ts"

const FIRST_PAGE_EVENTS = 250
const MAX_PAGE_EVENTS = 1_000

/** Expected number of characters of text in a page. */
const PAGE_CHARACTERS = 1024 * 1024

const MAX_FIRST_PAGES = 64

/** Positions scanned for each event that a filtered page may return. */
const POSITIONS_PER_EVENT = 16

const NO_LIMIT = Number.MAX_SAFE_INTEGER

const COLUMNS = "position, stream, revision, id, type, data, metadata"

type Row = [
  position: string,
  stream: string,
  revision: number,
  id: string,
  type: string,
  data: string,
  metadata: string,
]
type FirstPageRow = [...Row, request: number]

interface FirstPageRequest {
  readonly stream: string
  readonly from: number
  readonly limit: number
}

const FORWARDS = {
  name: "eventstore-read-forwards",
  text: `select ${COLUMNS} from eventstore.events
    where stream = $1 and revision >= $2 order by revision limit $3`,
}
/** The same for several streams; each row carries the number of its request, from 1. */
const FIRST_PAGES = {
  name: "eventstore-read-first-pages",
  text: `select ${COLUMNS}, number::integer from unnest($1::text[], $2::integer[], $3::integer[])
      with ordinality as request (name, first, most, number),
    lateral (select * from eventstore.events
      where stream = request.name and revision >= request.first
      order by revision limit request.most) as found
    order by request.number, revision`,
}
const BACKWARDS = {
  name: "eventstore-read-backwards",
  text: `select ${COLUMNS} from eventstore.events
    where stream = $1 and revision <= $2 order by revision desc limit $3`,
}
const ALL = {
  name: "eventstore-read-all",
  text: `select ${COLUMNS} from eventstore.events
    where position > $1 and position <= $2 order by position limit $3`,
}
const ALL_FILTERED = {
  name: "eventstore-read-filtered",
  text: `select ${COLUMNS} from eventstore.events
    where position > $1 and position <= $2 and stream ^@ any ($4::text[])
    order by position limit $3`,
}
/** The positions of all events of matching streams, found by the index of stream names. */
const POSITIONS_OF_STREAMS = {
  name: "eventstore-positions-of-streams",
  text: `select distinct position from unnest($3::text[]) as wanted (prefix),
    lateral (select position from eventstore.events
      where stream >= wanted.prefix and stream < wanted.prefix || chr(1114111)
        and position > $1 and position <= $2) as found
    order by position`,
}
const AT_POSITIONS = {
  name: "eventstore-read-at-positions",
  text: `select ${COLUMNS} from eventstore.events where position = any($1::bigint[]) order by position`,
}
const HEAD = {
  name: "eventstore-head",
  text: "select coalesce(max(position), -1) from eventstore.events",
}

/** Reads events in pages over a pool, prefetching one page. */
export class PostgresReader {
  readonly #pool: pg.Pool

  /** First pages of concurrent reads share a query, because most streams are short. */
  readonly #readFirstPage = batchCalls<FirstPageRequest, readonly StoredEvent[]>(
    MAX_FIRST_PAGES,
    (requests) => this.#readFirstPages(requests),
  )

  constructor(pool: pg.Pool) {
    this.#pool = pool
  }

  /** Reads one stream. @throws Unavailable, AccessDenied */
  read(stream: string, range: ReadRange): AsyncGenerator<readonly StoredEvent[]> {
    const forwards = range.direction !== "backwards"
    const statement = forwards ? FORWARDS : BACKWARDS
    const size = new PageSize()
    let left = range.limit ?? NO_LIMIT
    let pageLimit = 0
    const fetch = async (from: number): Promise<readonly StoredEvent[]> => {
      pageLimit = Math.min(size.events, left)
      return this.#queryEvents(statement, [stream, from, pageLimit])
    }
    return prefetchPages((page) => {
      if (page === null && forwards) {
        pageLimit = Math.min(size.events, left)
        return this.#readFirstPage({ stream, from: range.from ?? 0, limit: pageLimit })
      }
      if (page === null) return fetch(range.from ?? MAX_REVISION)
      const last = page.at(-1)
      left -= page.length
      size.adaptTo(page)
      if (last === undefined || page.length < pageLimit || left === 0) return null
      return !forwards && last.revision === 0 ? null : fetch(last.revision + (forwards ? 1 : -1))
    })
  }

  /** Reads positions after `after` up to and including `upTo`. @throws Unavailable, AccessDenied */
  readPages(
    after: SequenceNumber,
    upTo: SequenceNumber,
    prefixes: readonly string[] | undefined,
    limit: number = NO_LIMIT,
  ): AsyncGenerator<EventPage> {
    const size = new PageSize()
    let left = limit
    const fetch = async (start: SequenceNumber): Promise<EventPage> => {
      const pageLimit = Math.min(size.events, left)
      const reach = start + BigInt(size.events * POSITIONS_PER_EVENT)
      const end = reach < upTo ? reach : upTo
      const events = await (prefixes === undefined
        ? this.#queryEvents(ALL, [start, end, pageLimit])
        : this.#queryEvents(ALL_FILTERED, [start, end, pageLimit, prefixes]))
      // A full page covers positions only up to its last event.
      const last = events.length === pageLimit ? events.at(-1)?.position.commit : undefined
      return { events, end: last ?? end }
    }
    return prefetchPages((page) => {
      left -= page?.events.length ?? 0
      if (page !== null) size.adaptTo(page.events)
      const start = page?.end ?? after
      return start < upTo && left > 0 ? fetch(start) : null
    })
  }

  /**
   * Reads the events of a few streams through the index of stream names. Holds eight bytes of memory per event.
   *
   * @throws Unavailable, AccessDenied
   */
  async *readPagesOfFewStreams(
    after: SequenceNumber,
    upTo: SequenceNumber,
    prefixes: readonly string[],
    limit: number = NO_LIMIT,
  ): AsyncGenerator<readonly StoredEvent[]> {
    const found = await this.#queryRows<[string]>(POSITIONS_OF_STREAMS, [after, upTo, prefixes])
    const positions = Float64Array.from(found.slice(0, limit), ([position]) => Number(position))
    const size = new PageSize()
    let next = 0
    yield* prefetchPages((page: readonly StoredEvent[] | null) => {
      if (page !== null) size.adaptTo(page)
      if (next >= positions.length) return null
      const pagePositions = positions.subarray(next, next + size.events)
      next += pagePositions.length
      return this.#queryEvents(AT_POSITIONS, [[...pagePositions]])
    })
  }

  async head(): Promise<SequenceNumber> {
    const [row] = await this.#queryRows<[string]>(HEAD, [])
    return BigInt(row?.[0] ?? -1)
  }

  /** One page per request; a stream may be requested more than once. */
  async #readFirstPages(
    requests: readonly FirstPageRequest[],
  ): Promise<readonly (readonly StoredEvent[])[]> {
    const [only] = requests
    if (requests.length === 1 && only !== undefined) {
      return [await this.#queryEvents(FORWARDS, [only.stream, only.from, only.limit])]
    }
    const pages = requests.map((): StoredEvent[] => [])
    const values = [
      requests.map(({ stream }) => stream),
      requests.map(({ from }) => from),
      requests.map(({ limit }) => limit),
    ]
    for (const row of await this.#queryRows<FirstPageRow>(FIRST_PAGES, values)) {
      pages[row[7] - 1]?.push(toStoredEvent(row))
    }
    return pages
  }

  async #queryEvents(
    statement: { readonly name: string; readonly text: string },
    values: unknown[],
  ): Promise<readonly StoredEvent[]> {
    return (await this.#queryRows<Row>(statement, values)).map(toStoredEvent)
  }

  async #queryRows<R extends unknown[]>(
    statement: { readonly name: string; readonly text: string },
    values: unknown[],
  ): Promise<R[]> {
    try {
      const query = { ...statement, values, rowMode: "array" as const }
      return (await this.#pool.query<R>(query)).rows
    } catch (error) {
      throw storeErrorFromPostgres(error)
    }
  }
}

function toStoredEvent([position, stream, revision, id, type, data, metadata]:
  Row | FirstPageRow): StoredEvent {
  return {
    stream,
    revision,
    position: positionFromSequence(BigInt(position)),
    id,
    type,
    data,
    metadata,
  }
}

class PageSize {
  #events = FIRST_PAGE_EVENTS

  get events(): number {
    return this.#events
  }

  adaptTo(page: readonly StoredEvent[]): void {
    if (page.length === 0) return
    const characters = page.reduce(
      (sum, { data, metadata }) => sum + data.length + metadata.length,
      0,
    )
    const fitting = Math.floor((PAGE_CHARACTERS * page.length) / Math.max(characters, 1))
    this.#events = Math.min(Math.max(fitting, 1), MAX_PAGE_EVENTS)
  }
}

/**
 * Yields pages and fetches the next one while the caller handles this one. At most one page is fetched ahead.
 *
 * `fetch` gets the previous page (null for the first) and returns null after the last.
 */
async function* prefetchPages<P>(
  fetch: (previous: P | null) => Promise<P> | null,
): AsyncGenerator<P> {
  let next = fetch(null)
  while (next !== null) {
    const page = await next
    next = fetch(page)
    // The caller gets this error when it requests the page. Without a handler, a caller that stops
    // early would crash the process.
    next?.catch(() => undefined)
    // Let the query be sent before a caller that never yields to the event loop blocks it.
    if (next !== null) await new Promise(setImmediate)
    yield page
  }
}
