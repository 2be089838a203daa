import { randomUUID } from "node:crypto"

import {
  type EventStore,
  type ReadAllRange,
  START,
  type StoredEvent,
  WrongRevision,
} from "../port.ts"
import { createEventStore, MAX_REVISION } from "../create-event-store.ts"
import { EventStoreDbAppender } from "./appender.ts"
import { EventStoreDbConnection, STALE_AFTER_MS } from "./connection.ts"
import { CatchUpSubscription, type CatchUpSource } from "./catch-up-subscription.ts"
import { EventStoreDbReader } from "./reader.ts"

/** Where the store is and what it may take. */
export interface EventStoreDbOptions {
  /**
   * `esdb://` with the address of a single node or of all nodes of a cluster, or `esdb+discover://` with
   * the one DNS name that stands for all of them. Credentials, and with `tls=false` or `tlsCAFile` the encryption, stand in it.
   */
  readonly url: string
  /** Each append ends after so many milliseconds, with an unknown outcome if it was sent; 3,000. */
  readonly appendTimeoutMs?: number
  /** When nothing came of a read for so many milliseconds, it is asked whether the node is there; 1,500. */
  readonly readTimeoutMs?: number
  /** Subscriptions ask for the head when nothing came for so many milliseconds; 1,000. */
  readonly pollMs?: number
  /** A stream that exists and may be written to: by it `ready` asks whether appends are taken. */
  readonly probeStream?: string
  /** Whether a stream is the program's own, so that none of it may ever go; default all are. */
  readonly isOwnStream?: (stream: string) => boolean
  /** Calls are refused at once when the store was an older copy for so many milliseconds; 2,000. */
  readonly staleAfterMs?: number
}

/**
 * Opens the event store in a server of EventStoreDB 22.10 or newer, or of KurrentDB. It has
 * all streams of the server, also those of other writers, except the server's own, whose names begin with `$`.
 *
 * It connects when it is first used, and again by itself whenever the server was lost or did not
 * answer. Any number of processes may append and follow at once.
 *
 * @throws RangeError when the connection string is wrong; Unavailable from everything asked of the
 * store once it is closed
 */
export function openEventStoreDb(options: EventStoreDbOptions): EventStore {
  const { appendTimeoutMs = 3_000, readTimeoutMs = 1_500 } = options
  // Who appends waits no longer for a server to be found than for its answer.
  const connection = new EventStoreDbConnection({
    url: options.url,
    connectTimeoutMs: appendTimeoutMs,
    staleAfterMs: options.staleAfterMs ?? STALE_AFTER_MS,
    isOwnStream: options.isOwnStream ?? (() => true),
  })
  const reader = new EventStoreDbReader(connection, readTimeoutMs)
  const appender = new EventStoreDbAppender(connection, appendTimeoutMs)
  const source: CatchUpSource = { connection, reader, pollMs: options.pollMs ?? 1_000 }
  return createEventStore({
    canHideEvents: true,
    append: (proposal, bytes) => appender.append(proposal, bytes),
    read: (stream, range) => reader.read(stream, range),
    readAll: (range) => readAll(reader, range),
    follow: (range, subscriber, stopping) =>
      new CatchUpSubscription(source, range, subscriber, stopping).run(),
    head: () => reader.head(),
    ready: async () => {
      await reader.head()
      appender.requireAppending()
      await probeAppend(appender, options.probeStream ?? "readiness")
    },
    close: async () => {
      await appender.close()
      connection.close()
    },
  })
}

/** No stream is that long: the server says so, by the way of every append, and stores nothing. */
const UNREACHABLE_REVISION = MAX_REVISION - 1

async function probeAppend(appender: EventStoreDbAppender, stream: string): Promise<void> {
  const event = { id: randomUUID(), type: "Asked", data: "{}", metadata: "{}" }
  const proposal = { stream, events: [event], expectedRevision: UNREACHABLE_REVISION }
  await appender.append(proposal, 0).catch((error: unknown) => {
    if (!(error instanceof WrongRevision)) throw error
  })
}

async function* readAll(
  reader: EventStoreDbReader,
  { after = START, prefixes, limit }: ReadAllRange,
): AsyncGenerator<readonly StoredEvent[]> {
  yield* reader.readAll({ after, upTo: await reader.head(), prefixes, limit })
}
