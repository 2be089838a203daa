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

/** Address, timeouts and limits of the store. */
export interface EventStoreDbOptions {
  /**
   * `esdb://` with the address of a single node or of all nodes of a cluster, or `esdb+discover://` with the one
   * DNS name of a cluster. It contains the credentials, and the encryption (`tls=false` or `tlsCAFile`).
   */
  readonly url: string
  /** How long an append may take, in milliseconds; its outcome is then unknown if it was sent. Default 3,000. */
  readonly appendTimeoutMs?: number
  /** After this many milliseconds without an event, a read checks that the node still answers; default 1,500. */
  readonly readTimeoutMs?: number
  /** After this many milliseconds without an event, a subscription reads the head; default 1,000. */
  readonly pollMs?: number
  /** A writable stream that exists; `ready` uses it to check that appends are accepted. */
  readonly probeStream?: string
  /** Whether only this program writes to a stream, so that its events are never deleted; default all. */
  readonly isOwnStream?: (stream: string) => boolean
  /** Calls fail immediately once the store has been an older copy for this many milliseconds; default 2,000. */
  readonly staleAfterMs?: number
}

/**
 * Opens the event store in a server of EventStoreDB 22.10 or newer, or of KurrentDB. It includes all streams of
 * the server, also those of other writers, except system streams, whose names start with `$`.
 *
 * Connects on first use, and reconnects whenever the server was lost or did not answer. Any number of processes
 * may append and follow concurrently.
 *
 * @throws RangeError if the connection string is invalid; Unavailable from all calls after `close`
 */
export function openEventStoreDb(options: EventStoreDbOptions): EventStore {
  const { appendTimeoutMs = 3_000, readTimeoutMs = 1_500 } = options
  // Finding a server may take as long as waiting for its answer.
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

/** No stream is this long, so the server rejects the probe on the path of every append and stores nothing. */
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
