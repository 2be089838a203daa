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

/** Address, timeouts and limits of the store. */
export interface PostgresEventStoreOptions extends DatabaseAddress {
  /** How long an append may take, in milliseconds; its outcome is then unknown if it was sent. Default 5,000. */
  readonly appendTimeoutMs?: number
  /** How long a read of one page may take, in milliseconds; default 10,000. */
  readonly readTimeoutMs?: number
  /** How often subscriptions read the head at least, in milliseconds; default 1,000. */
  readonly pollMs?: number
  /** Maximum number of concurrent reads; default 4. Two further connections append and listen. */
  readonly readConnections?: number
}

/**
 * Opens the event store in the schema `eventstore` of a PostgreSQL database (see `schema.ts`).
 *
 * Connects on first use, and reconnects whenever the database was lost. Any number of processes may
 * append and follow concurrently.
 *
 * @throws Unavailable from all calls after `close`
 */
export function openPostgresEventStore(options: PostgresEventStoreOptions): EventStore {
  const database = openStoreDatabase(options)
  const pool = database.openReadPool(options.readConnections ?? 4, options.readTimeoutMs ?? 10_000)
  const reader = new PostgresReader(pool)
  const staleness = new StaleStoreDetector()
  const appender = new PostgresAppender(database, options.appendTimeoutMs ?? 5_000, staleness)
  const watch = new HeadWatch(database, options.pollMs ?? 1_000, staleness)
  const source = followSource(reader, watch)
  const head = async (): Promise<Position> => {
    const seenBefore = staleness.newestSeen
    const sequence = await reader.head()
    staleness.noteEnd(sequence, seenBefore)
    return positionFromSequence(sequence)
  }
  return createEventStore({
    append: async (proposal, bytes) => {
      staleness.requireCurrent()
      return appender.append(proposal, bytes)
    },
    read: (stream, range) => reader.read(stream, range),
    readAll: (range) => readAll(reader, range),
    follow: (range, subscriber, stopping) => {
      watch.start()
      return followStore(source, range, subscriber, stopping)
    },
    head,
    ready: async () => {
      await head()
      staleness.requireCurrent()
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
    yield* reader.readPagesOfFewStreams(after.commit, head, prefixes, limit)
    return
  }
  for await (const { events } of reader.readPages(after.commit, head, prefixes, limit)) {
    if (events.length > 0) yield events
  }
}

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
