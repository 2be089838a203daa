/**
 * Writes a read model's rows together with the position of their last fact.
 *
 * A batch is written only if the stored position is the one this writer knows, regardless of
 * leases: rows that another process wrote, or whose commit was not confirmed, are not written
 * twice. The locked position row makes all writers of the read model wait.
 */
import type { Pool, PoolClient } from "pg"
import type { Transaction } from "kysely"
import type { Unsealer, Projection, ProjectedFact } from "../../../projections/kernel/projection.ts"
import type { Position, SeenEvent, StoredEvent, EventStore } from "../../eventstore/port.ts"
import { comparePositions } from "../../eventstore/port.ts"
import { withoutTimeouts, kyselyOnConnection } from "../database.ts"
import { isConnectionFault } from "../port.ts"
import type { JointWriter } from "./joint-writer.ts"
import type { FoldFault } from "./port.ts"
import { toFoldFault } from "./port.ts"
import type { StoredProjection } from "./tables.ts"
import {
  LIVE_SCHEMA,
  createIndexes,
  inTransaction,
  formatSeenEvent,
  readStoredProjection,
  factsOf,
} from "./tables.ts"

const UPDATE_POSITION = `
  update ledger.projections
  set commit_position = $4, prepare_position = $5, fault = null,
    last_event = coalesce($7::jsonb, last_event)
  where name = $1 and commit_position = $2 and prepare_position = $3 and version = $6`

export interface WriterPorts {
  readonly pool: Pool
  readonly decode: (stored: StoredEvent) => ProjectedFact
  readonly opener: Unsealer
  /** Writes batches of several read models together; if absent, each is written alone. */
  readonly jointWriter?: JointWriter
  /** Called after a batch of this read model was committed here. */
  readonly onApplied: (name: string) => void
}

/** Writes one read model. */
export class ReadModelWriter {
  readonly #ports: WriterPorts
  readonly #projection: Projection
  storedPosition: Position
  isIndexed: boolean

  constructor(ports: WriterPorts, projection: Projection, stored: Position) {
    this.#ports = ports
    this.#projection = projection
    this.storedPosition = stored
    this.isIndexed = (projection.createIndexes ?? "") === ""
  }

  /** Creates missing indexes that only lists use. It may take long. */
  async ensureIndexes(): Promise<void> {
    await createIndexes(withoutTimeouts(this.#ports.pool), this.#projection, LIVE_SCHEMA)
    this.isIndexed = true
  }

  /** Reads the stored state. @throws RangeError if there is none; the driver's errors */
  readStored(): Promise<StoredProjection> {
    return readStoredProjection(this.#ports.pool, this.#projection.name)
  }

  /**
   * Writes facts in one transaction; false, and nothing is written, if the stored position is not
   * the expected one.
   *
   * @throws errors of decoding and applying a fact, and the driver's errors
   */
  async write(facts: readonly StoredEvent[]): Promise<boolean> {
    const last = facts.at(-1)
    if (last === undefined) return true
    const { pool, decode, opener, jointWriter, onApplied } = this.#ports
    const { name, version } = this.#projection
    const recorded = facts.map((stored) => decode(stored))
    const apply = async (client: PoolClient): Promise<void> => {
      const tx = kyselyOnConnection(client, "again") as Transaction<unknown>
      await this.#projection.apply(tx, recorded, opener)
    }
    const work = async (client: PoolClient): Promise<boolean> => {
      // First, because it locks the position row before any row is written.
      if (!(await this.#updatePosition(client, last.position, last))) return false
      await apply(client)
      return true
    }
    // A full batch is written alone, because it would delay the others in the transaction.
    const mayJoin = facts.length < BATCH_EVENTS
    const part = { name, version, storedPosition: this.storedPosition, lastFact: last, apply }
    const isJoined = mayJoin && (await jointWriter?.(part)) === true
    if (!isJoined && !(await inTransaction(pool, work, LIVE_SCHEMA))) return false
    this.storedPosition = last.position
    onApplied(name)
    return true
  }

  /**
   * The same, but splits a failing batch, so that all facts before the failing one are written; returns its fault.
   *
   * @throws connection errors, which are not the fault of a fact
   */
  async writeInParts(facts: readonly StoredEvent[]): Promise<boolean | FoldFault> {
    try {
      return await this.write(facts)
    } catch (error) {
      if (isConnectionFault(error)) throw error
      const [event] = facts
      if (facts.length === 1 && event !== undefined) return toFoldFault(event, error)
    }
    const half = Math.ceil(facts.length / 2)
    const first = await this.writeInParts(facts.slice(0, half))
    return first === true ? this.writeInParts(facts.slice(half)) : first
  }

  /**
   * Stores a position without rows; false as for `write`.
   *
   * @param last the last seen event up to the position; null if there is none
   */
  async storePosition(position: Position, last: SeenEvent | null): Promise<boolean> {
    const isNewer = last !== null && comparePositions(last.position, this.storedPosition) > 0
    const isMoved = await this.#updatePosition(this.#ports.pool, position, isNewer ? last : null)
    if (isMoved) this.storedPosition = position
    return isMoved
  }

  async storeFault(fault: string): Promise<void> {
    const { name, version } = this.#projection
    await this.#ports.pool.query(
      "update ledger.projections set fault = $3 where name = $1 and version = $2",
      [name, version, fault],
    )
  }

  async #updatePosition(
    client: Pick<Pool, "query">,
    to: Position,
    last: SeenEvent | null,
  ): Promise<boolean> {
    const { name, version } = this.#projection
    const { commit, prepare } = this.storedPosition
    const seen = last === null ? null : formatSeenEvent(last)
    const values = [name, commit, prepare, to.commit, to.prepare, version, seen]
    const { rowCount } = await client.query({
      name: "projection-move",
      text: UPDATE_POSITION,
      values,
    })
    return rowCount === 1
  }
}

const BATCH_EVENTS = 1_000

/** Facts to write, in global order. */
export class PendingFacts {
  #facts: StoredEvent[] = []
  #added: { readonly upTo: Position; readonly atMs: number }[] = []

  get count(): number {
    return this.#facts.length
  }

  /** The number of facts, and how long the oldest has waited, in milliseconds. */
  backlog(nowMs: number): { readonly facts: number; readonly ms: number } {
    return { facts: this.count, ms: nowMs - (this.#added[0]?.atMs ?? nowMs) }
  }

  get isFull(): boolean {
    return this.#facts.length >= BATCH_EVENTS
  }

  get first(): StoredEvent | undefined {
    return this.#facts[0]
  }

  get batch(): readonly StoredEvent[] {
    return this.#facts.slice(0, BATCH_EVENTS)
  }

  add(facts: readonly StoredEvent[], stored: Position, atMs: number): void {
    const waiting = factsAfter(facts, stored)
    this.#facts.push(...waiting)
    const last = waiting.at(-1)
    if (last !== undefined) this.#added.push({ upTo: last.position, atMs })
  }

  removeUpTo(stored: Position): void {
    this.#facts = factsAfter(this.#facts, stored)
    this.#added = this.#added.filter(({ upTo }) => comparePositions(upTo, stored) > 0)
  }

  /** Drops all facts: another process writes them, or they are read again. */
  clear(): void {
    this.#facts = []
    this.#added = []
  }
}

function factsAfter(facts: readonly StoredEvent[], after: Position): StoredEvent[] {
  return facts.filter(({ position }) => comparePositions(position, after) > 0)
}

/** Reads a read model's facts again from the store, after its position up to the delivered one, in batches. */
export async function* readMissingFacts(
  store: EventStore,
  projection: Projection,
  { after, until }: { readonly after: Position; readonly until: Position },
): AsyncGenerator<readonly StoredEvent[]> {
  for await (const page of store.readAll({ after, prefixes: projection.categories })) {
    const before = page.filter(({ position }) => comparePositions(position, until) <= 0)
    const facts = factsOf(projection, before)
    for (let i = 0; i < facts.length; i += BATCH_EVENTS) yield facts.slice(i, i + BATCH_EVENTS)
    if (before.length < page.length) return
  }
}
