/**
 * One read model being kept up: events wait in its lane, are written in batches, and the position of
 * the last one is stored in the same transaction. A fact it cannot take stops this lane and no other.
 */
import type { Pool } from "pg"
import type { Transaction } from "kysely"
import type { Opener, Projection, Recorded } from "../../../projections/projection.ts"
import type { Position, StoredEvent } from "../../eventstore/port.ts"
import { comparePositions } from "../../eventstore/port.ts"
import type { Pacer } from "../../clock/port.ts"
import { isConnectionFault } from "../connection-fault.ts"
import { kyselyOn } from "../kysely-on.ts"
import { LIVE_SCHEMA, inTransaction } from "./tables.ts"

const BATCH_EVENTS = 1_000
const RETRY_FIRST_MS = 100
const RETRY_MOST_MS = 5_000
/** A position is stored without rows once this many foreign events passed. */
const STORE_POSITION_EVERY = 2_000

/** What a lane works with. */
export interface LanePorts {
  readonly pool: Pool
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
  #paused = false
  #closed = false
  #unstored = 0
  #waiters: Waiter[] = []

  constructor(ports: LanePorts, projection: Projection, position: Position, fault: string | null) {
    this.#ports = ports
    this.projection = projection
    this.position = position
    this.fault = fault
  }

  /** Events handed over and not yet written. */
  get behind(): number {
    return this.#pending.length
  }

  /** Takes events in global order; those it has had already are passed over. */
  deliver(events: readonly StoredEvent[]): void {
    if (this.fault !== null) return
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

  /** Runs `work` while the lane stands still between two batches. */
  async whileStill<T>(work: () => Promise<T>): Promise<T> {
    this.#paused = true
    try {
      while (this.#working !== null) await this.#working
      return await work()
    } finally {
      this.#paused = false
      this.#wake()
    }
  }

  /** Begins anew from a place, after its tables were swapped. */
  restart(position: Position): void {
    this.fault = null
    this.position = position
    this.#pending = this.#pending.filter((one) => comparePositions(one.position, position) > 0)
  }

  /** Writes what waits, stores the position and stops. */
  async close(): Promise<void> {
    while (this.#working !== null) await this.#working
    this.#closed = true
    if (this.fault === null && this.#unstored > 0) await this.#storePosition()
    for (const { resolve } of this.#waiters.splice(0)) resolve(false)
  }

  #reach(): Position {
    return this.#pending.at(-1)?.position ?? this.position
  }

  #wake(): void {
    if (this.#working !== null || this.#paused || this.#closed || this.#pending.length === 0) return
    this.#working = this.#work().finally(() => {
      this.#working = null
      this.#wake()
    })
  }

  async #work(): Promise<void> {
    let retryMs = RETRY_FIRST_MS
    while (this.#pending.length > 0 && !this.#paused && this.fault === null) {
      const batch = this.#pending.slice(0, BATCH_EVENTS)
      try {
        await this.#write(batch)
        this.#pending.splice(0, batch.length)
        this.#moveTo((batch.at(-1) as StoredEvent).position)
        retryMs = RETRY_FIRST_MS
      } catch (error) {
        if (!isConnectionFault(error)) return this.#stop(batch, error)
        this.#ports.warn(`read model ${this.projection.name} waits for the database`, error)
        if (this.#closed) return
        await this.#ports.pacer.pause(retryMs)
        retryMs = Math.min(retryMs * 2, RETRY_MOST_MS)
      }
    }
  }

  async #write(batch: readonly StoredEvent[]): Promise<void> {
    const { projection } = this
    const facts = batch
      .map((stored) => ({ stored, category: stored.stream.split("-", 1)[0] as string }))
      .filter(({ category }) => projection.categories.includes(category))
      .map(({ stored }) => this.#ports.decode(stored))
    this.#unstored += batch.length
    if (facts.length === 0) {
      if (this.#unstored >= STORE_POSITION_EVERY) {
        await this.#storePosition((batch.at(-1) as StoredEvent).position)
      }
      return
    }
    const { position } = batch.at(-1) as StoredEvent
    await inTransaction(this.#ports.pool, async (client) => {
      await client.query(`set local search_path to ${LIVE_SCHEMA}`)
      const tx = kyselyOn(client) as Transaction<unknown>
      await projection.apply(tx, facts, this.#ports.opener)
      await client.query(STORE_POSITION, [projection.name, position.commit, position.prepare])
    })
    this.#unstored = 0
    this.#ports.onApplied(projection.name)
  }

  async #storePosition(position: Position = this.position): Promise<void> {
    const { name } = this.projection
    await this.#ports.pool.query(STORE_POSITION, [name, position.commit, position.prepare])
    this.#unstored = 0
  }

  /** A fact that cannot be taken: the lane stands still before it and says which batch it was. */
  async #stop(batch: readonly StoredEvent[], error: unknown): Promise<void> {
    const first = batch[0] as StoredEvent
    const reason = error instanceof Error ? error.message : String(error)
    this.fault = `at or after ${first.stream} revision ${first.revision}: ${reason}`
    this.#pending = []
    this.#ports.warn(`read model ${this.projection.name} stopped`, error)
    for (const { resolve } of this.#waiters.splice(0)) resolve(false)
    await this.#ports.pool.query("update ledger.projections set fault = $2 where name = $1", [
      this.projection.name,
      this.fault,
    ])
  }

  #moveTo(position: Position): void {
    this.position = position
    const reached = this.#waiters.filter((one) => comparePositions(one.position, position) <= 0)
    if (reached.length === 0) return
    this.#waiters = this.#waiters.filter((one) => comparePositions(one.position, position) > 0)
    for (const { resolve } of reached) resolve(true)
  }
}

const STORE_POSITION = `
  update ledger.projections
  set commit_position = $2, prepare_position = $3, fault = null
  where name = $1`
