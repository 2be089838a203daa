/**
 * Writing a read model's rows together with the position of the last fact in them.
 *
 * A batch is written only onto the position that was stored last as this writer knows it, whatever
 * the leases say: what another process wrote, or what was written and the answer lost, is not
 * written again. Whoever holds the row of the position holds up all writers of the read model.
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

/** What a writer works with. */
export interface WriterPorts {
  readonly pool: Pool
  /** Reads a stored event for the read models. */
  readonly decode: (stored: StoredEvent) => ProjectedFact
  readonly opener: Unsealer
  /** Writes batches of several read models together; absent: each is written alone. */
  readonly jointWriter?: JointWriter
  /** Called after a batch of this read model was committed here. */
  readonly onApplied: (name: string) => void
}

/** Writes one read model. */
export class ReadModelWriter {
  readonly #ports: WriterPorts
  readonly #projection: Projection
  /** The position in the table, as it was last stored or read. */
  storedPosition: Position
  /** Whether all of its indexes are there. */
  isIndexed: boolean

  constructor(ports: WriterPorts, projection: Projection, stored: Position) {
    this.#ports = ports
    this.#projection = projection
    this.storedPosition = stored
    this.isIndexed = (projection.createIndexes ?? "") === ""
  }

  /** Makes the indexes that only lists use, where they are missing. It may take long. */
  async ensureIndexes(): Promise<void> {
    await createIndexes(withoutTimeouts(this.#ports.pool), this.#projection, LIVE_SCHEMA)
    this.isIndexed = true
  }

  /** What is in the table by now. @throws RangeError where nothing is; the driver's errors */
  readStored(): Promise<StoredProjection> {
    return readStoredProjection(this.#ports.pool, this.#projection.name)
  }

  /**
   * Writes facts in one transaction; false, and nothing is written, where another position is stored
   * than was thought.
   *
   * @throws what reading a fact or the read model throws, and the driver's errors
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
      // First of all: from here on the row is locked, and the batch is not in yet.
      if (!(await this.#updatePosition(client, last.position, last))) return false
      await apply(client)
      return true
    }
    // Behind a full batch there are more: they are no small matter for whoever shares the transaction.
    const mayJoin = facts.length < BATCH_EVENTS
    const part = { name, version, storedPosition: this.storedPosition, lastFact: last, apply }
    const isJoined = mayJoin && (await jointWriter?.(part)) === true
    if (!isJoined && !(await inTransaction(pool, work, LIVE_SCHEMA))) return false
    this.storedPosition = last.position
    onApplied(name)
    return true
  }

  /**
   * The same in halves where it cannot be written whole, so that all before a fact that cannot be
   * taken is; answers the fault of that one.
   *
   * @throws what is no fact's fault: that the database is not there
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
   * @param last the last event up to there that was seen; null where none was
   */
  async storePosition(position: Position, last: SeenEvent | null): Promise<boolean> {
    const isNews = last !== null && comparePositions(last.position, this.storedPosition) > 0
    const isMoved = await this.#updatePosition(this.#ports.pool, position, isNews ? last : null)
    if (isMoved) this.storedPosition = position
    return isMoved
  }

  /** Stores why nothing is written any more. */
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

/** So many facts are written at a time. */
const BATCH_EVENTS = 1_000

/** Facts that are to be written, in global order. */
export class PendingFacts {
  #facts: StoredEvent[] = []
  /** When facts were added, by the last of them. */
  #added: { readonly upTo: Position; readonly atMs: number }[] = []

  /** How many there are. */
  get count(): number {
    return this.#facts.length
  }

  /** How many there are, and how long the oldest has been here, milliseconds. */
  backlog(nowMs: number): { readonly facts: number; readonly ms: number } {
    return { facts: this.count, ms: nowMs - (this.#added[0]?.atMs ?? nowMs) }
  }

  /** Whether a batch would be no larger for what comes later. */
  get isFull(): boolean {
    return this.#facts.length >= BATCH_EVENTS
  }

  /** The first of them. */
  get first(): StoredEvent | undefined {
    return this.#facts[0]
  }

  /** Those to be written next. */
  get batch(): readonly StoredEvent[] {
    return this.#facts.slice(0, BATCH_EVENTS)
  }

  /** Adds those of some facts that are not written up to a place. */
  add(facts: readonly StoredEvent[], stored: Position, atMs: number): void {
    const waiting = factsAfter(facts, stored)
    this.#facts.push(...waiting)
    const last = waiting.at(-1)
    if (last !== undefined) this.#added.push({ upTo: last.position, atMs })
  }

  /** Those up to a place are written. */
  removeUpTo(stored: Position): void {
    this.#facts = factsAfter(this.#facts, stored)
    this.#added = this.#added.filter(({ upTo }) => comparePositions(upTo, stored) > 0)
  }

  /** They are left to somebody else, or read anew. */
  clear(): void {
    this.#facts = []
    this.#added = []
  }
}

function factsAfter(facts: readonly StoredEvent[], place: Position): StoredEvent[] {
  return facts.filter(({ position }) => comparePositions(position, place) > 0)
}

/** A read model's facts after a place, read from the store again in batches, up to what was handed over. */
export async function* readMissingFacts(
  store: EventStore,
  projection: Projection,
  { after: from, until }: { readonly after: Position; readonly until: Position },
): AsyncGenerator<readonly StoredEvent[]> {
  for await (const page of store.readAll({ after: from, prefixes: projection.categories })) {
    const before = page.filter(({ position }) => comparePositions(position, until) <= 0)
    const facts = factsOf(projection, before)
    for (let i = 0; i < facts.length; i += BATCH_EVENTS) yield facts.slice(i, i + BATCH_EVENTS)
    if (before.length < page.length) return
  }
}
