import type pg from "pg"

import { type EventPage, type SequenceNumber, positionFromSequence } from "../follow.ts"
import { batchCalls } from "../../machine/promises.ts"
import type { ReadRange, StoredEvent } from "../port.ts"
import { MAX_REVISION } from "../create-event-store.ts"
import { storeErrorFromPostgres } from "./store-database.ts"

const FIRST_PAGE_EVENTS = 250
const MAX_PAGE_EVENTS = 1_000

/** Pages are made as long as their events' text is expected to stay under so many characters. */
const PAGE_CHARACTERS = 1024 * 1024

/** So many streams are begun to be read together. */
const MAX_FIRST_PAGES = 64

/** How many places a page of filtered events looks at for each event that it may give. */
const POSITIONS_PER_EVENT = 16

/** More than any stream has. */
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
type FirstPageRow = [...Row, place: number]

/** The beginning of a read that goes forwards. */
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
/** The same for several streams at once, each row with the place of its question, from 1 on. */
const FIRST_PAGES = {
  name: "eventstore-read-first-pages",
  text: `select ${COLUMNS}, place::integer from unnest($1::text[], $2::integer[], $3::integer[])
      with ordinality as asked (name, first, most, place),
    lateral (select * from eventstore.events
      where stream = asked.name and revision >= asked.first
      order by revision limit asked.most) as found
    order by asked.place, revision`,
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
/** The places of all events of such streams, by the index of names: other streams are not looked at. */
const POSITIONS_OF_STREAMS = {
  name: "eventstore-places-of-streams",
  text: `select distinct position from unnest($3::text[]) as asked (prefix),
    lateral (select position from eventstore.events
      where stream >= asked.prefix and stream < asked.prefix || chr(1114111)
        and position > $1 and position <= $2) as found
    order by position`,
}
const AT_POSITIONS = {
  name: "eventstore-read-at-places",
  text: `select ${COLUMNS} from eventstore.events where position = any($1::bigint[]) order by position`,
}
const HEAD = {
  name: "eventstore-head",
  text: "select coalesce(max(position), -1) from eventstore.events",
}

/** Reads events over a pool, in pages, the next one while the reader is busy with the last. */
export class PostgresReader {
  readonly #pool: pg.Pool

  /** Where many streams are loaded at once, most have few events: their first pages come together. */
  readonly #readFirstPage = batchCalls<FirstPageRequest, readonly StoredEvent[]>(
    MAX_FIRST_PAGES,
    (asked) => this.#readFirstPages(asked),
  )

  constructor(pool: pg.Pool) {
    this.#pool = pool
  }

  /** One stream. @throws Unavailable, AccessDenied */
  read(stream: string, range: ReadRange): AsyncGenerator<readonly StoredEvent[]> {
    const forwards = range.direction !== "backwards"
    const statement = forwards ? FORWARDS : BACKWARDS
    const size = new PageSize()
    let left = range.limit ?? NO_LIMIT
    let asked = 0
    const fetch = async (from: number): Promise<readonly StoredEvent[]> => {
      asked = Math.min(size.events, left)
      return this.#queryEvents(statement, [stream, from, asked])
    }
    return prefetched((page) => {
      if (page === null && forwards) {
        asked = Math.min(size.events, left)
        return this.#readFirstPage({ stream, from: range.from ?? 0, limit: asked })
      }
      if (page === null) return fetch(range.from ?? MAX_REVISION)
      const last = page.at(-1)
      left -= page.length
      size.adaptTo(page)
      if (last === undefined || page.length < asked || left === 0) return null
      return !forwards && last.revision === 0 ? null : fetch(last.revision + (forwards ? 1 : -1))
    })
  }

  /** The places after `after` up to and with `upTo`. @throws Unavailable, AccessDenied */
  readPages(
    after: SequenceNumber,
    upTo: SequenceNumber,
    prefixes: readonly string[] | undefined,
    limit: number = NO_LIMIT,
  ): AsyncGenerator<EventPage> {
    const size = new PageSize()
    let left = limit
    const fetch = async (start: SequenceNumber): Promise<EventPage> => {
      const asked = Math.min(size.events, left)
      const reach = start + BigInt(size.events * POSITIONS_PER_EVENT)
      const end = reach < upTo ? reach : upTo
      const events = await (prefixes === undefined
        ? this.#queryEvents(ALL, [start, end, asked])
        : this.#queryEvents(ALL_FILTERED, [start, end, asked, prefixes]))
      // A full page says nothing about the places behind its last event.
      const last = events.length === asked ? events.at(-1)?.position.commit : undefined
      return { events, end: last ?? end }
    }
    return prefetched((page) => {
      left -= page?.events.length ?? 0
      if (page !== null) size.adaptTo(page.events)
      const start = page?.end ?? after
      return start < upTo && left > 0 ? fetch(start) : null
    })
  }

  /**
   * The same of few streams, found by their names. Eight bytes are held for each event.
   *
   * @throws Unavailable, AccessDenied
   */
  async *readSelectivePages(
    after: SequenceNumber,
    upTo: SequenceNumber,
    prefixes: readonly string[],
    limit: number = NO_LIMIT,
  ): AsyncGenerator<readonly StoredEvent[]> {
    const found = await this.#queryRows<[string]>(POSITIONS_OF_STREAMS, [after, upTo, prefixes])
    const places = Float64Array.from(found.slice(0, limit), ([place]) => Number(place))
    const size = new PageSize()
    let next = 0
    yield* prefetched((page: readonly StoredEvent[] | null) => {
      if (page !== null) size.adaptTo(page)
      if (next >= places.length) return null
      const asked = places.subarray(next, next + size.events)
      next += asked.length
      return this.#queryEvents(AT_POSITIONS, [[...asked]])
    })
  }

  /** The place of the newest event. @throws Unavailable, AccessDenied */
  async head(): Promise<SequenceNumber> {
    const [row] = await this.#queryRows<[string]>(HEAD, [])
    return BigInt(row?.[0] ?? -1)
  }

  /** One page of each; a stream may be asked for more than once. */
  async #readFirstPages(
    asked: readonly FirstPageRequest[],
  ): Promise<readonly (readonly StoredEvent[])[]> {
    const [only] = asked
    if (asked.length === 1 && only !== undefined) {
      return [await this.#queryEvents(FORWARDS, [only.stream, only.from, only.limit])]
    }
    const pages = asked.map((): StoredEvent[] => [])
    const values = [
      asked.map(({ stream }) => stream),
      asked.map(({ from }) => from),
      asked.map(({ limit }) => limit),
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

/** How many events the next page may have, from how large the events of the last one were. */
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
 * Gives pages one after another and fetches the next one while the reader is busy with this one, so
 * that reading and the work on what was read overlap. At most one page is fetched ahead.
 *
 * `fetch` is given the page before (null for the first) and answers null behind the last.
 */
async function* prefetched<P>(fetch: (previous: P | null) => Promise<P> | null): AsyncGenerator<P> {
  let next = fetch(null)
  while (next !== null) {
    const page = await next
    next = fetch(page)
    // The page ahead may fail while the reader is busy. It is told when it asks for that page, and
    // never when it leaves before: without this handler the process would end over it.
    next?.catch(() => undefined)
    // A reader that works without a pause would keep the question from being sent until it asks.
    if (next !== null) await new Promise(setImmediate)
    yield page
  }
}
