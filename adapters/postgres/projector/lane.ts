/**
 * One read model being kept up: events wait in its lane, are written in batches, and the position of
 * the last one is stored in the same transaction. A fact it cannot take stops this lane and no other.
 *
 * A batch is written only onto the position that this lane stored last. So one whose commit was lost
 * on the way back is not written again, and neither is one that another process wrote. A position
 * that went back (commits do not wait for the disk, and the server may crash) is where it goes on.
 */
import type { Pool } from "pg"
import type { Transaction } from "kysely"
import type { Opener, Projection, Recorded } from "../../../projections/projection.ts"
import type { EventStore, Position, StoredEvent } from "../../eventstore/port.ts"
import { comparePositions } from "../../eventstore/port.ts"
import type { Pacer } from "../../clock/port.ts"
import { isConnectionFault } from "../port.ts"
import { kyselyOn } from "../kysely-on.ts"
import { LIVE_SCHEMA, inTransaction, storedPosition } from "./tables.ts"

const BATCH_EVENTS = 1_000
const RETRY_FIRST_MS = 100
const RETRY_MOST_MS = 5_000
/** A position is stored without rows once this many foreign events passed. */
const STORE_POSITION_EVERY = 2_000

/** What a lane works with. */
export interface LanePorts {
  readonly pool: Pool
  readonly store: EventStore
  readonly pacer: Pacer
  /** Reads a stored event for the read models. */
  readonly decode: (stored: StoredEvent) => Recorded
  readonly opener: Opener
  readonly warn: (message: string, error: unknown) => void
  /** Called after a batch of this read model was committed. */
  readonly onApplied: (name: string) => void
}

interface Waiter {
  readonly position: Position
  readonly resolve: (reached: boolean) => void
}

/** A read model's lane. */
export class Lane {
  readonly projection: Projection
  position: Position
  fault: string | null
  readonly #ports: LanePorts
  #pending: StoredEvent[] = []
  #working: Promise<void> | null = null
  #alone: Promise<unknown> = Promise.resolve()
  #paused = false
  #closing = false
  #closed = false
  /** The position as this lane last stored it, or read it from the table. */
  #stored: Position
  #unstored = 0
  #waiters: Waiter[] = []

  constructor(ports: LanePorts, projection: Projection, position: Position, fault: string | null) {
    this.#ports = ports
    this.projection = projection
    this.position = position
    this.#stored = position
    this.fault = fault
  }

  /** Events handed over and not yet written. */
  get behind(): number {
    return this.#pending.length
  }

  /** Takes events in global order; those it has had already are passed over. */
  deliver(events: readonly StoredEvent[]): void {
    // A stopped lane takes events while it is paused: it may be about to begin anew.
    if (this.fault !== null && !this.#paused) return
    const fresh = events.filter((event) => comparePositions(event.position, this.#reach()) > 0)
    this.#pending.push(...fresh)
    this.#wake()
  }

  /** Everything up to here was handed over: with nothing left to write, this is where it stands. */
  reached(head: Position): void {
    if (this.fault !== null || this.#pending.length > 0 || this.#working !== null) return
    if (comparePositions(head, this.position) > 0) this.#moveTo(head)
  }

  /** Resolves when no more than `most` events wait, or the lane stopped. */
  async drained(most: number): Promise<void> {
    while (this.#pending.length > most && this.#working !== null && !this.#paused) {
      await this.#working
    }
  }

  /** True once everything up to a place is written; false when the lane is stopped. */
  waitFor(position: Position): { readonly done: Promise<boolean>; readonly cancel: () => void } {
    if (this.fault !== null) return { done: Promise.resolve(false), cancel: () => undefined }
    if (comparePositions(this.position, position) >= 0) {
      return { done: Promise.resolve(true), cancel: () => undefined }
    }
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const waiter = { position, resolve }
    this.#waiters.push(waiter)
    return {
      done: promise,
      cancel: () => {
        this.#waiters = this.#waiters.filter((one) => one !== waiter)
        resolve(false)
      },
    }
  }

  /** Runs `work` after all that was asked for before: what folds beside has one place for it. */
  async alone<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#alone.then(work)
    this.#alone = mine.catch(() => undefined)
    return mine
  }

  /** Runs `work` while the lane stands still between two batches. */
  async whileStill<T>(work: () => Promise<T>): Promise<T> {
    this.#paused = true
    try {
      while (this.#working !== null) await this.#working
      return await work()
    } finally {
      this.#paused = false
      if (this.fault !== null) this.#pending = []
      this.#wake()
    }
  }

  /** Begins anew from a place, after its tables were swapped and the place was stored. */
  restart(position: Position): void {
    this.fault = null
    this.#stored = position
    this.#unstored = 0
    this.#passOver(position)
  }

  /** Writes what waits if the database is there, stores the position and stops. */
  async close(): Promise<void> {
    this.#closing = true
    while (this.#working !== null) await this.#working
    this.#closed = true
    if (this.fault === null && this.#unstored > 0) {
      await this.#storePosition(this.position).catch((error: unknown) => {
        // Events that meant nothing to this read model are passed over once more.
        this.#ports.warn(`the position of ${this.projection.name} could not be stored`, error)
      })
    }
    for (const { resolve } of this.#waiters.splice(0)) resolve(false)
  }

  #reach(): Position {
    return this.#pending.at(-1)?.position ?? this.position
  }

  #wake(): void {
    if (this.#working !== null || this.#pending.length === 0) return
    if (this.#paused || this.#closed || this.fault !== null) return
    this.#working = this.#work().finally(() => {
      this.#working = null
      this.#wake()
    })
  }

  async #work(): Promise<void> {
    let retryMs = RETRY_FIRST_MS
    let most = BATCH_EVENTS
    while (this.#pending.length > 0 && !this.#paused && this.fault === null) {
      const batch = this.#pending.slice(0, most)
      try {
        this.#passOver(await this.#write(batch))
        retryMs = RETRY_FIRST_MS
        most = Math.min(2 * most, BATCH_EVENTS)
      } catch (error) {
        if (!isConnectionFault(error)) {
          // One event of the batch cannot be taken: those before it are, and it is named.
          if (batch.length === 1) return this.#stop(batch[0] as StoredEvent, error)
          most = Math.ceil(batch.length / 2)
          continue
        }
        this.#ports.warn(`read model ${this.projection.name} waits for the database`, error)
        if (this.#closing) {
          this.#closed = true
          return
        }
        await this.#ports.pacer.pause(retryMs)
        retryMs = Math.min(retryMs * 2, RETRY_MOST_MS)
      }
    }
  }

  /** Writes a batch unless it was written already; answers the place up to which all is written. */
  async #write(batch: readonly StoredEvent[]): Promise<Position> {
    const { projection } = this
    const facts = batch
      .map((stored) => ({ stored, category: stored.stream.split("-", 1)[0] as string }))
      .filter(({ category }) => projection.categories.includes(category))
      .map(({ stored }) => this.#ports.decode(stored))
    const { position } = batch.at(-1) as StoredEvent
    if (facts.length === 0) {
      this.#unstored += batch.length
      if (this.#unstored >= STORE_POSITION_EVERY) await this.#storePosition(position)
      return position
    }
    const isNew = await inTransaction(this.#ports.pool, async (client) => {
      // First of all: from here on the row is locked, and the batch is not in yet.
      if (!(await this.#moveStored(client, position))) return false
      await client.query(`set local search_path to ${LIVE_SCHEMA}`)
      const tx = kyselyOn(client) as Transaction<unknown>
      await projection.apply(tx, facts, this.#ports.opener)
      return true
    })
    if (isNew) this.#stored = position
    else await this.#lookAgain()
    this.#unstored = 0
    this.#ports.onApplied(projection.name)
    return this.#stored
  }

  /** Takes the stored position for its own; where it went back, what follows it is read again. */
  async #lookAgain(): Promise<void> {
    const { name, categories: prefixes } = this.projection
    const stored = await storedPosition(this.#ports.pool, name)
    if (comparePositions(stored, this.#stored) < 0) {
      const missed: StoredEvent[] = []
      for await (const page of this.#ports.store.readAll({ after: stored, prefixes })) {
        missed.push(...page.filter((one) => comparePositions(one.position, this.position) <= 0))
      }
      this.#ports.warn(`read model ${name} goes back by ${missed.length} events`, null)
      this.#pending = [...missed, ...this.#pending]
      this.position = stored
    }
    this.#stored = stored
  }

  async #storePosition(position: Position): Promise<void> {
    if (await this.#moveStored(this.#ports.pool, position)) this.#stored = position
    this.#unstored = 0
  }

  /** Stores a position in the place of the one stored last; false where that is another by now. */
  async #moveStored(client: Pick<Pool, "query">, to: Position): Promise<boolean> {
    const from = this.#stored
    const { rowCount } = await client.query(
      `update ledger.projections
       set commit_position = $4, prepare_position = $5, fault = null
       where name = $1 and commit_position = $2 and prepare_position = $3`,
      [this.projection.name, from.commit, from.prepare, to.commit, to.prepare],
    )
    return rowCount === 1
  }

  /** A fact that cannot be taken: the lane stands still before it and says which it was. */
  async #stop(event: StoredEvent, error: unknown): Promise<void> {
    const { name } = this.projection
    const reason = error instanceof Error ? error.message : String(error)
    this.fault = `${event.stream} revision ${event.revision}: ${reason}`
    this.#pending = []
    this.#ports.warn(`read model ${name} stopped at ${this.fault}`, error)
    for (const { resolve } of this.#waiters.splice(0)) resolve(false)
    await this.#ports.pool
      .query("update ledger.projections set fault = $2 where name = $1", [name, this.fault])
      .catch((lost: unknown) => this.#ports.warn(`why ${name} stopped could not be stored`, lost))
  }

  /** Everything up to a place is written, or means nothing to this read model. */
  #passOver(position: Position): void {
    this.#pending = this.#pending.filter((one) => comparePositions(one.position, position) > 0)
    if (comparePositions(position, this.position) > 0) this.#moveTo(position)
  }

  #moveTo(position: Position): void {
    this.position = position
    const reached = this.#waiters.filter((one) => comparePositions(one.position, position) <= 0)
    if (reached.length === 0) return
    this.#waiters = this.#waiters.filter((one) => comparePositions(one.position, position) > 0)
    for (const { resolve } of reached) resolve(true)
  }
}
