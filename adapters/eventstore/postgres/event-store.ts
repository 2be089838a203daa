import { follow, type Page, positionOf, type Tail } from "../follow.ts"
import {
  type EventStore,
  type Position,
  type ReadAllRange,
  START,
  type StoredEvent,
} from "../port.ts"
import { openStore } from "../opened.ts"
import { Appender } from "./appender.ts"
import { HeadWatch, NewestSeen } from "./head-watch.ts"
import { Reader } from "./reader.ts"
import { type DatabaseAddress, databaseAt } from "./session.ts"

/** Where the store is and what it may take. */
export interface PostgresEventStoreOptions extends DatabaseAddress {
  /** Each append ends after so many milliseconds, with an unknown outcome if it was sent; 5,000. */
  readonly appendTimeoutMs?: number
  /** A read of one page fails after so many milliseconds; 10,000. */
  readonly readTimeoutMs?: number
  /** Subscriptions look at the head at least every so many milliseconds; 1,000. */
  readonly pollMs?: number
  /** So many reads are served at once; 4. Two further connections append and listen. */
  readonly readConnections?: number
}

/**
 * Opens the event store in the schema `eventstore` of a PostgreSQL database (see `schema.ts`).
 *
 * It connects when it is first used, and again by itself whenever the database was lost. Any number
 * of processes may append and follow at once.
 *
 * @throws Unavailable from everything asked of it once it is closed
 */
export function openPostgresEventStore(options: PostgresEventStoreOptions): EventStore {
  const database = databaseAt(options)
  const pool = database.readers(options.readConnections ?? 4, options.readTimeoutMs ?? 10_000)
  const reader = new Reader(pool)
  const newest = new NewestSeen()
  const appender = new Appender(database, options.appendTimeoutMs ?? 5_000, newest)
  const watch = new HeadWatch(database, options.pollMs ?? 1_000, newest)
  const tail = tailOf(reader, watch)
  const head = async (): Promise<Position> => {
    const seen = newest.place
    const place = await reader.head()
    newest.ends(place, seen)
    return positionOf(place)
  }
  return openStore({
    append: async (proposal, bytes) => {
      newest.hold()
      return appender.append(proposal, bytes)
    },
    read: (stream, range) => reader.read(stream, range),
    readAll: (range) => readAll(reader, range),
    follow: (range, subscriber, stopping) => {
      watch.start()
      return follow(tail, range, subscriber, stopping)
    },
    head,
    ready: async () => {
      await head()
      newest.hold()
    },
    close: async () => {
      await Promise.all([watch.close(), appender.close()])
      await pool.end()
    },
  })
}

async function* readAll(
  reader: Reader,
  { after = START, prefixes, isNarrow, limit }: ReadAllRange,
): AsyncGenerator<readonly StoredEvent[]> {
  const head = await reader.head()
  if (isNarrow === true && prefixes !== undefined) {
    yield* reader.narrowPages(after.commit, head, prefixes, limit)
    return
  }
  for await (const { events } of reader.pages(after.commit, head, prefixes, limit)) {
    if (events.length > 0) yield events
  }
}

/** What subscriptions follow: the reader tells the watch when it finds that the store is lost. */
function tailOf(reader: Reader, watch: HeadWatch): Tail {
  return {
    known: watch.known,
    pages: async function* (after, head, prefixes): AsyncGenerator<Page> {
      const pages = reader.pages(after, head.place, prefixes)
      for (;;) {
        const next = await pages.next().catch((cause: Error) => watch.reportLoss(head, cause))
        if (next === undefined || next.done === true) return
        yield next.value
      }
    },
  }
}
