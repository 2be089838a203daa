import type pg from "pg"
import type { StoreHead, SequenceNumber } from "../follow.ts"
import { pause, HeadTracker } from "../follow.ts"
import type { StoreDatabase } from "./store-database.ts"
import { storeErrorFromPostgres, disconnect } from "./store-database.ts"
import { APPENDED_CHANNEL } from "./schema.ts"
import { Unavailable } from "../port.ts"

const FIRST_BACKOFF_MS = 50
const MAX_BACKOFF_MS = 2_000

/** A connection that does not answer for this long counts as lost. */
const ANSWER_TIMEOUT_MS = 5_000

/**
 * Tracks the head of the store for all subscriptions of this process, over one listening connection. Notifications
 * make it fast; a poll covers lost notifications and detects a dead server.
 */
export class HeadWatch {
  readonly #database: StoreDatabase
  readonly #pollMs: number
  readonly #staleness: StaleStoreDetector
  readonly headTracker = new HeadTracker()
  readonly #closing = new AbortController()
  #failures = 0
  #session = new AbortController()
  #watching: Promise<void> | null = null

  /** A lost notification is noticed after `pollMs`. */
  constructor(database: StoreDatabase, pollMs: number, staleness: StaleStoreDetector) {
    this.#database = database
    this.#pollMs = pollMs
    this.#staleness = staleness
  }

  start(): void {
    this.#watching ??= this.#watch()
  }

  /** Reports that reading up to this head failed. The store counts as lost unless it was lost since that head. */
  reportLoss(head: StoreHead, cause: Error): void {
    if (this.headTracker.isCurrent(head)) this.#session.abort(cause)
  }

  /** Disconnects. Stop all waiters first. */
  async close(): Promise<void> {
    this.#closing.abort()
    this.#session.abort(new Error("The event store is closed"))
    await this.#watching
  }

  async #watch(): Promise<void> {
    while (!this.#closing.signal.aborted) {
      this.#session = new AbortController()
      await this.#listen(this.#session)
      const pauseMs = Math.min(FIRST_BACKOFF_MS * 2 ** this.#failures, MAX_BACKOFF_MS)
      this.#failures += 1
      await pause(pauseMs, this.#closing.signal)
    }
  }

  async #listen(session: AbortController): Promise<void> {
    session.signal.addEventListener("abort", () =>
      this.#markLost(storeErrorFromPostgres(session.signal.reason)),
    )
    let client: pg.Client | null = null
    try {
      client = await this.#database.connect({
        settings: { query_timeout: ANSWER_TIMEOUT_MS },
        prepare: `listen ${APPENDED_CHANNEL}`,
        onLost: (cause) => session.abort(cause),
      })
      client.on("notification", ({ payload = "-1" }) => this.#advanceTo(BigInt(payload), session))
      for (let polls = 0; !session.signal.aborted; polls += 1) {
        const seenBefore = this.#staleness.newestSeen
        const head = await readHead(client)
        this.#staleness.noteEnd(head, seenBefore)
        this.#advanceTo(head, session)
        // Only a session that lasts resets the backoff.
        if (polls > 0) this.#failures = 0
        await pause(this.#pollMs, session.signal)
      }
    } catch (error) {
      session.abort(error)
    } finally {
      if (client !== null) await disconnect(client)
    }
  }

  #advanceTo(head: SequenceNumber, session: AbortController): void {
    if (!session.signal.aborted) this.headTracker.advanceTo(head)
  }

  #markLost(cause: Error): void {
    if (!this.#closing.signal.aborted) this.headTracker.markLost(cause)
  }
}

async function readHead(client: pg.Client): Promise<SequenceNumber> {
  const { rows } = await client.query<{ head: string }>(
    "select coalesce(max(position), -1) as head from eventstore.events",
  )
  return BigInt(rows[0]?.head ?? -1)
}

/**
 * Tracks the newest sequence number that this process has seen, which never decreases. A database
 * that ends before it is an older copy, or a standby that is behind: this process has newer state
 * in memory, so it rejects appends. Reads and audits still work.
 */
export class StaleStoreDetector {
  #newestSeen: SequenceNumber = -1n
  #fault: string | null = null
  /** Another writer appended to the copy: its length proves nothing. */
  #isOtherStore = false

  /** The last event that this process stored: it must exist at its position forever. */
  lastStored: { readonly newestSeen: SequenceNumber; readonly id: string } | null = null

  /** The newest sequence number seen; read it before a query whose result `noteEnd` checks. */
  get newestSeen(): SequenceNumber {
    return this.#newestSeen
  }

  noteStored(newestSeen: SequenceNumber, id: string): void {
    if (this.lastStored === null || newestSeen > this.lastStored.newestSeen)
      this.lastStored = { newestSeen, id }
    this.noteSeen(newestSeen)
  }

  noteSeen(sequence: SequenceNumber): void {
    if (sequence > this.#newestSeen) this.#newestSeen = sequence
  }

  /**
   * Records where the database ends.
   *
   * @param seenBefore the newest sequence number before the query: later ones may have been stored since
   */
  noteEnd(end: SequenceNumber, seenBefore: SequenceNumber): void {
    this.noteSeen(end)
    if (this.#isOtherStore) return
    this.#fault =
      end >= seenBefore
        ? null
        : `The event store ends at ${end}, but ${seenBefore} was read from it before: it is an older copy, or a ` +
          "standby that is behind. Restore the missing events, or restart all processes to continue without them."
  }

  /** Records the id that a new connection shows at the position of the last stored event; null for none. */
  noteStoredEvent(id: string | null): void {
    if (this.lastStored === null || id === this.lastStored.id) return
    this.#fault =
      `The event store lost the event that was stored at ${this.lastStored.newestSeen}: it is an older copy, or ` +
      "another database. Restore the missing events, or restart all processes to continue without them."
    this.#isOtherStore = true
  }

  /** @throws Unavailable while the database ends before the newest sequence number seen */
  requireCurrent(): void {
    if (this.#fault !== null) throw new Unavailable(this.#fault)
  }
}
