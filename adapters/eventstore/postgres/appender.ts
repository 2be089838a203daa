import { setImmediate as nextTurn } from "node:timers/promises"
import type pg from "pg"
import { positionFromSequence } from "../follow.ts"
import type { AppendResult } from "../port.ts"
import { Unavailable, UnknownOutcome, WrongRevision } from "../port.ts"
import type { AppendProposal } from "../create-event-store.ts"
import type { StoreDatabase } from "./store-database.ts"
import { storeErrorFromPostgres, sqlState, disconnect } from "./store-database.ts"
import type { StaleStoreDetector } from "./head-watch.ts"

/** Limits of one transaction; a larger append is sent alone. */
const MAX_BATCH_EVENTS = 500
/** With fewer waiting appends, a batch of their own is not worth a flush: callers are answered first. */
const MIN_PIPELINED_APPENDS = 100
const MAX_BATCH_BYTES = 1024 * 1024

/** Further appends are rejected while this many wait to be sent. */
const MAX_QUEUED_APPENDS = 10_000

const APPEND = {
  name: "eventstore-append",
  text: "select * from eventstore.append_many($1, $2, $3, $4, $5, $6, $7, $8)",
  rowMode: "array",
} as const

/** A stored append must be on disk, whatever the server's default is. */
const DURABLE = `
  select set_config('synchronous_commit', 'on', false)
  where current_setting('synchronous_commit') = 'off'
`

/** A row of `eventstore.append_many`: revision and position, or else the stream's last revision. */
type AppendRow = [revision: number | null, position: string | null, actual: number | null]

interface PendingAppend extends AppendProposal {
  readonly bytes: number
  /** The connection it was sent on; null while it waits, when it is certainly not stored. */
  sentOn: pg.Client | null
  readonly resolve: (appended: AppendResult) => void
  readonly reject: (error: Error) => void
}

interface SentBatch {
  readonly isStored: boolean
  readonly notifyCallers: () => void
}

/**
 * Appends over one connection, with one transaction in progress at a time. Appends that arrive meanwhile, for any
 * stream, go into the next transaction and share its flush to disk. A transaction has at most one append per
 * stream, so that each gets its own answer.
 *
 * @throws the errors of the port's `append`: WrongRevision, Unavailable, AccessDenied, UnknownOutcome
 */
export class PostgresAppender {
  readonly #database: StoreDatabase
  readonly #timeoutMs: number
  readonly #staleness: StaleStoreDetector
  /** By stream, and in order of arrival. */
  readonly #queues = new Map<string, PendingAppend[]>()
  #queuedCount = 0
  #client: pg.Client | null = null
  #sending: Promise<void> | null = null

  constructor(database: StoreDatabase, timeoutMs: number, staleness: StaleStoreDetector) {
    this.#database = database
    this.#timeoutMs = timeoutMs
    this.#staleness = staleness
  }

  /** Appends `bytes` of events that were checked. Throws the errors of the port's `append`. */
  async append(proposal: AppendProposal, bytes: number): Promise<AppendResult> {
    if (this.#queuedCount >= MAX_QUEUED_APPENDS) {
      throw new Unavailable(
        `The event store is overloaded: ${MAX_QUEUED_APPENDS} appends are waiting`,
      )
    }
    const { promise, resolve, reject } = Promise.withResolvers<AppendResult>()
    const append: PendingAppend = { ...proposal, bytes, sentOn: null, resolve, reject }
    const queue = this.#queues.get(append.stream)
    if (queue === undefined) this.#queues.set(append.stream, [append])
    else queue.push(append)
    this.#queuedCount += 1
    this.#sending ??= this.#drainQueues()
    const timer = setTimeout(() => this.#expire(append), this.#timeoutMs)
    try {
      return await promise
    } finally {
      clearTimeout(timer)
    }
  }

  async close(): Promise<void> {
    await this.#sending
    if (this.#client !== null) await disconnect(this.#client)
  }

  async #drainQueues(): Promise<void> {
    do {
      // Includes appends of the same turn of the event loop, such as those of callers just answered.
      await nextTurn()
      const client = await this.#connectOnce()
      if (client !== null) await this.#sendAll(client)
    } while (this.#queuedCount > 0)
    this.#sending = null
  }

  /**
   * Sends all waiting appends. With many waiting, the next batch is sent before the callers of the
   * last one are answered, so that PostgreSQL stores while this process decides.
   */
  async #sendAll(client: pg.Client): Promise<void> {
    const first = this.#takeBatch()
    let sending = first.length > 0 ? this.#sendBatch(client, first) : null
    while (sending !== null) {
      const sent: SentBatch = await sending
      const isFull = sent.isStored && this.#queuedCount >= MIN_PIPELINED_APPENDS
      sending =
        isFull && this.#client === client ? this.#sendBatch(client, this.#takeBatch()) : null
      sent.notifyCallers()
    }
  }

  /** Returns the connection; null after rejecting all waiting appends because there is none. */
  async #connectOnce(): Promise<pg.Client | null> {
    if (this.#client !== null) return this.#client
    const broken = new AbortController()
    try {
      const client = await this.#database.connect({
        // A statement that timed out here must not hold the lock that all writers need.
        settings: { statement_timeout: this.#timeoutMs },
        prepare: DURABLE,
        onLost: () => broken.abort(),
      })
      await this.#verifyHistory(client).catch(async (error: unknown) => {
        await disconnect(client)
        throw error
      })
      if (!broken.signal.aborted) this.#client = client
      broken.signal.addEventListener("abort", () => {
        if (this.#client === client) this.#client = null
      })
    } catch (error) {
      for (const append of [...this.#queues.values()].flat())
        append.reject(storeErrorFromPostgres(error))
      this.#queues.clear()
      this.#queuedCount = 0
    }
    return this.#client
  }

  /** Checks that the last stored event exists on a new connection before anything is sent. */
  async #verifyHistory(client: pg.Client): Promise<void> {
    const { lastStored } = this.#staleness
    if (lastStored === null) return
    const at = "select id from eventstore.events where position = $1"
    const { rows } = await client.query<{ id: string }>(at, [lastStored.newestSeen])
    this.#staleness.noteStoredEvent(rows[0]?.id ?? null)
    this.#staleness.requireCurrent()
  }

  #takeBatch(): PendingAppend[] {
    const batch: PendingAppend[] = []
    let events = 0
    let bytes = 0
    for (const append of [...this.#queues.values()].flatMap((queue) => queue.slice(0, 1))) {
      events += append.events.length
      bytes += append.bytes
      if (batch.length > 0 && (events > MAX_BATCH_EVENTS || bytes > MAX_BATCH_BYTES)) break
      batch.push(append)
      this.#dequeue(append)
    }
    return batch
  }

  #dequeue(append: PendingAppend): void {
    const rest = this.#queues.get(append.stream)?.filter((other) => other !== append) ?? []
    this.#queues.delete(append.stream)
    if (rest.length > 0) this.#queues.set(append.stream, rest)
    this.#queuedCount -= 1
  }

  async #sendBatch(client: pg.Client, batch: readonly PendingAppend[]): Promise<SentBatch> {
    const values = appendParameters(batch)
    for (const append of batch) append.sentOn = client
    try {
      const { rows } = await client.query<AppendRow>({ ...APPEND, values })
      const notifyCallers = () =>
        batch.forEach((append, index) => settleAppend(append, rows[index], this.#staleness))
      return { isStored: true, notifyCallers }
    } catch (error) {
      const isNotStored = await isRolledBack(client, error)
      const why = () => (isNotStored ? storeErrorFromPostgres(error) : unknownOutcome(error))
      return {
        isStored: false,
        notifyCallers: () => batch.forEach((append) => append.reject(why())),
      }
    }
  }

  #expire(append: PendingAppend): void {
    if (append.sentOn === null) {
      this.#dequeue(append)
      append.reject(
        new Unavailable(`The append was not sent to the event store within ${this.#timeoutMs} ms`),
      )
      return
    }
    append.reject(
      new UnknownOutcome(`The event store did not answer an append within ${this.#timeoutMs} ms`),
    )
    // Appends of one batch share their fate. Breaking the connection rejects the others; waiting
    // appends use a new connection.
    if (this.#client === append.sentOn) this.#client = null
    void disconnect(append.sentOn)
  }
}

function settleAppend(
  append: PendingAppend,
  answer: AppendRow | undefined,
  staleness: StaleStoreDetector,
): void {
  const [revision, position, actual] = answer ?? [null, null, null]
  if (revision !== null && position !== null) {
    const sequence = BigInt(position)
    staleness.noteStored(sequence, append.events.at(-1)?.id ?? "")
    append.resolve({ revision, position: positionFromSequence(sequence) })
  } else {
    append.reject(new WrongRevision(append.stream, append.expectedRevision, actual))
  }
}

/**
 * Whether a failed transaction was certainly rolled back. An error from PostgreSQL means so, unless
 * it ended the session: then it may have come after the commit. The session is queried to tell them
 * apart, because severities are translated.
 */
async function isRolledBack(client: pg.Client, error: unknown): Promise<boolean> {
  if (sqlState(error) === undefined) return false
  return client.query("select").then(
    () => true,
    () => false,
  )
}

function unknownOutcome(cause: unknown): UnknownOutcome {
  return new UnknownOutcome("The connection to the event store broke after an append was sent", {
    cause,
  })
}

const TEXT_OID = 25
const INTEGER_OID = 23
const UUID_OID = 2950

/**
 * The arguments of `eventstore.append_many` as arrays in PostgreSQL's binary format: nothing is
 * quoted, and the server copies instead of parsing.
 */
function appendParameters(appends: readonly AppendProposal[]): Buffer[] {
  const events = appends.flatMap((append) => append.events)
  const owners = appends.flatMap((append, index) => append.events.map(() => index + 1))
  return [
    textArray(appends.map(({ stream }) => stream)),
    integerArray(appends.map(({ expectedRevision }) => expectedRevision)),
    integerArray(appends.map((append) => append.events.length)),
    integerArray(owners),
    uuidArray(events.map(({ id }) => id)),
    textArray(events.map(({ type }) => type)),
    textArray(events.map(({ data }) => data)),
    textArray(events.map(({ metadata }) => metadata)),
  ]
}

const HEADER_BYTES = 20

/** One dimension, no nulls, counted from 1; then each element with its length in bytes. */
function startArray(elementOid: number, length: number, elementBytes: number): Buffer {
  const buffer = Buffer.allocUnsafe(HEADER_BYTES + 4 * length + elementBytes)
  buffer.writeInt32BE(1, 0)
  buffer.writeInt32BE(0, 4)
  buffer.writeInt32BE(elementOid, 8)
  buffer.writeInt32BE(length, 12)
  buffer.writeInt32BE(1, 16)
  return buffer
}

function textArray(values: readonly string[]): Buffer {
  const bytes = values.reduce((sum, value) => sum + Buffer.byteLength(value), 0)
  const buffer = startArray(TEXT_OID, values.length, bytes)
  let at = HEADER_BYTES
  for (const value of values) {
    const length = buffer.write(value, at + 4, "utf8")
    buffer.writeInt32BE(length, at)
    at += 4 + length
  }
  return buffer
}

function integerArray(values: readonly number[]): Buffer {
  const buffer = startArray(INTEGER_OID, values.length, 4 * values.length)
  let at = HEADER_BYTES
  for (const value of values) {
    buffer.writeInt32BE(4, at)
    buffer.writeInt32BE(value, at + 4)
    at += 8
  }
  return buffer
}

function uuidArray(values: readonly string[]): Buffer {
  const buffer = startArray(UUID_OID, values.length, 16 * values.length)
  let at = HEADER_BYTES
  for (const value of values) {
    buffer.writeInt32BE(16, at)
    buffer.write(value.replaceAll("-", ""), at + 4, "hex")
    at += 20
  }
  return buffer
}
