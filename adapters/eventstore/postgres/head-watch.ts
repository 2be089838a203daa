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
 * Knows the head of the store, for all subscriptions of this process, over one connection that
 * listens. Notifications make it quick; a poll behind them makes it sure, and notices a server that
 * is silent because it is gone.
 */
export class HeadWatch {
  readonly #database: StoreDatabase
  readonly #pollMs: number
  readonly #staleness: StaleStoreDetector
  readonly headTracker = new HeadTracker()
  readonly #closing = new AbortController()
  #failures = 0
  /** Ends the session that runs, with a cause. */
  #session = new AbortController()
  #watching: Promise<void> | null = null

  /** `pollMs` is the time after which a lost notification is made up for. */
  constructor(database: StoreDatabase, pollMs: number, newest: StaleStoreDetector) {
    this.#database = database
    this.#pollMs = pollMs
    this.#staleness = newest
  }

  /** Begins to watch, where it has not: it connects. */
  start(): void {
    this.#watching ??= this.#watch()
  }

  /** Reading up to this head failed: unless it is known by now, the store counts as lost. */
  reportLoss(head: StoreHead, cause: Error): void {
    if (this.headTracker.isCurrent(head)) this.#session.abort(cause)
  }

  /** Disconnects. Who waits for a head has to be stopped before. */
  async close(): Promise<void> {
    this.#closing.abort()
    this.#session.abort(new Error("the event store is closed"))
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

  /** Listens and polls until the session is aborted, from outside or by what went wrong. */
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
        const seen = this.#staleness.newestSeen
        const place = await readHead(client)
        this.#staleness.noteEnd(place, seen)
        this.#advanceTo(place, session)
        // Only a session that lasts shows that the trouble is over.
        if (polls > 0) this.#failures = 0
        await pause(this.#pollMs, session.signal)
      }
    } catch (error) {
      session.abort(error)
    } finally {
      if (client !== null) await disconnect(client)
    }
  }

  #advanceTo(place: SequenceNumber, session: AbortController): void {
    if (!session.signal.aborted) this.headTracker.advanceTo(place)
  }

  #markLost(cause: Error): void {
    if (!this.#closing.signal.aborted) this.headTracker.markLost(cause)
  }
}

async function readHead(client: pg.Client): Promise<SequenceNumber> {
  const { rows } = await client.query<{ place: string }>(
    "select coalesce(max(position), -1) as place from eventstore.events",
  )
  return BigInt(rows[0]?.place ?? -1)
}

/**
 * The newest place that this process has seen. It only ever goes forward: a database that ends before it
 * is an older copy that was put in the place of ours, or a standby that had not received everything. What
 * is in memory here is newer than that: nothing is appended behind both. It can be read and audited.
 */
export class StaleStoreDetector {
  #newestSeen: SequenceNumber = -1n
  #fault: string | null = null
  /** It went on otherwise: however far it comes, it is not ours. */
  #isOtherStore = false

  /** The last event that was stored from here: it has to be there, at its place, for ever. */
  lastStored: { readonly newestSeen: SequenceNumber; readonly id: string } | null = null

  /** The newest place seen by now: to be asked before the question whose answer is checked. */
  get newestSeen(): SequenceNumber {
    return this.#newestSeen
  }

  /** An event was stored from here. */
  noteStored(newestSeen: SequenceNumber, id: string): void {
    if (this.lastStored === null || newestSeen > this.lastStored.newestSeen)
      this.lastStored = { newestSeen, id }
    this.noteSeen(newestSeen)
  }

  /** An event was shown or stored there. */
  noteSeen(place: SequenceNumber): void {
    if (place > this.#newestSeen) this.#newestSeen = place
  }

  /**
   * The database says where it ends.
   *
   * @param seen what was seen when it was asked: more may have been stored since
   */
  noteEnd(end: SequenceNumber, seen: SequenceNumber): void {
    this.noteSeen(end)
    if (this.#isOtherStore) return
    this.#fault =
      end >= seen
        ? null
        : `the event store ends at ${end}, and ${seen} was seen in it before: it is an older copy, or a ` +
          "standby that has not received everything; put back what is missing, or start anew"
  }

  /** A new connection shows what stands where the last event was stored from here; null for nothing. */
  noteStoredEvent(id: string | null): void {
    if (this.lastStored === null || id === this.lastStored.id) return
    this.#fault =
      `the event store does not hold at ${this.lastStored.newestSeen} what was stored there: it is an older copy, or ` +
      "another database; put back what is missing, or start anew"
    this.#isOtherStore = true
  }

  /** @throws Unavailable as long as the database ends before what was seen */
  requireCurrent(): void {
    if (this.#fault !== null) throw new Unavailable(this.#fault)
  }
}
