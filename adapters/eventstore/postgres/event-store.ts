import { followStore, type EventPage, positionFromSequence, type FollowSource } from "../follow.ts"
import {
  type EventStore,
  type Position,
  type ReadAllRange,
  START,
  type StoredEvent,
} from "../port.ts"
import { createEventStore } from "../create-event-store.ts"
import { PostgresAppender } from "./appender.ts"
import { HeadWatch, StaleStoreDetector } from "./head-watch.ts"
import { PostgresReader } from "./reader.ts"
import { type DatabaseAddress, openStoreDatabase } from "./store-database.ts"

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
  const database = openStoreDatabase(options)
  const pool = database.openReadPool(options.readConnections ?? 4, options.readTimeoutMs ?? 10_000)
  const reader = new PostgresReader(pool)
  const newest = new StaleStoreDetector()
  const appender = new PostgresAppender(database, options.appendTimeoutMs ?? 5_000, newest)
  const watch = new HeadWatch(database, options.pollMs ?? 1_000, newest)
  const tail = followSource(reader, watch)
  const head = async (): Promise<Position> => {
    const seen = newest.newestSeen
    const place = await reader.head()
    newest.noteEnd(place, seen)
    return positionFromSequence(place)
  }
  return createEventStore({
    append: async (proposal, bytes) => {
      newest.requireCurrent()
      return appender.append(proposal, bytes)
    },
    read: (stream, range) => reader.read(stream, range),
    readAll: (range) => readAll(reader, range),
    follow: (range, subscriber, stopping) => {
      watch.start()
      return followStore(tail, range, subscriber, stopping)
    },
    head,
    ready: async () => {
      await head()
      newest.requireCurrent()
    },
    close: async () => {
      await Promise.all([watch.close(), appender.close()])
      await pool.end()
    },
  })
}

async function* readAll(
  reader: PostgresReader,
  { after = START, prefixes, isSelective, limit }: ReadAllRange,
): AsyncGenerator<readonly StoredEvent[]> {
  const head = await reader.head()
  if (isSelective === true && prefixes !== undefined) {
    yield* reader.readSelectivePages(after.commit, head, prefixes, limit)
    return
  }
  for await (const { events } of reader.readPages(after.commit, head, prefixes, limit)) {
    if (events.length > 0) yield events
  }
}

/** What subscriptions follow: the reader tells the watch when it finds that the store is lost. */
function followSource(reader: PostgresReader, watch: HeadWatch): FollowSource {
  return {
    headTracker: watch.headTracker,
    readPages: async function* (after, head, prefixes): AsyncGenerator<EventPage> {
      const pages = reader.readPages(after, head.sequence, prefixes)
      for (;;) {
        const next = await pages.next().catch((cause: Error) => watch.reportLoss(head, cause))
        if (next === undefined || next.done === true) return
        yield next.value
      }
    },
  }
}
