/** Folding a read model anew beside the live one, to swap them. */
import type { Transaction } from "kysely"
import type { Pool, PoolClient } from "pg"
import type { Projection } from "../../../projections/kernel/projection.ts"
import type { EventStore, Position, StoredEvent } from "../../eventstore/port.ts"
import { START, comparePositions, later } from "../../eventstore/port.ts"
import { isConnectionFault } from "../port.ts"
import { kyselyOn, onConnection } from "../database.ts"
import type { ComparingPorts } from "./comparing.ts"
import { compare } from "./comparing.ts"
import {
  factsOf,
  shadowSchema,
  createIndexes,
  createTables,
  heldRow,
  inTransaction,
  storePosition,
  storedRow,
  swapTables,
} from "./tables.ts"
import type { Comparison, Progress, Verification } from "./port.ts"
import { foldFault } from "./port.ts"

/** What folding beside works with. */
interface ShadowPorts extends ComparingPorts {
  readonly store: EventStore
}

/** The lock of whoever folds a read model beside the live one: there is one place for it. */
const SHADOW = "select pg_advisory_lock(hashtextextended($1, 7005))"
const TRY_SHADOW = "select pg_try_advisory_lock(hashtextextended($1, 7005)) as held"
const DONE_SHADOW = "select pg_advisory_unlock(hashtextextended($1, 7005))"

/** Rebuilding and comparing. */
export type Shadow = ReturnType<typeof openShadow>

/** One after the other: each holds up to three connections. */
export function openShadow(ports: ShadowPorts) {
  let last: Promise<unknown> = Promise.resolve()
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const mine = last.then(work)
    last = mine.catch(() => undefined)
    return mine
  }
  return {
    /**
     * Folds a read model anew and puts it in the place of the live one.
     *
     * @throws FoldFault: the live one stays as it was
     */
    rebuild: (projection: Projection, progress: Progress): Promise<void> =>
      inTurn(() => alone(ports.pool, projection.name, () => rebuild(ports, projection, progress))),
    /**
     * The same for a read model of another version; one that is of this version by now is left.
     *
     * @throws FoldFault: the live one stays as it was
     */
    renew: (projection: Projection, progress: Progress): Promise<void> =>
      inTurn(() => alone(ports.pool, projection.name, () => renew(ports, projection, progress))),
    /** Compares read models with a rebuild of each up to where it stands. */
    verify: (
      projections: readonly Projection[],
      comparison: Comparison,
    ): Promise<readonly Verification[]> => inTurn(() => compare(ports, projections, comparison)),
  }
}

/** Drops what a shadow rebuild that was cut short left. False where somebody folds there just now. */
export function dropShadow(pool: Pool, name: string): Promise<boolean> {
  return onConnection(pool, async (client) => {
    const { rows } = await client.query<{ held: boolean }>(TRY_SHADOW, [name])
    if (rows[0]?.held !== true) return false
    await client.query(`drop schema if exists "${shadowSchema(name)}" cascade`)
    await client.query(DONE_SHADOW, [name])
    return true
  })
}

/**
 * The live one may be kept up by any process. Who writes it waits meanwhile for its row in the table
 * of positions, then finds the position moved, and looks again.
 */
async function rebuild(
  ports: ShadowPorts,
  projection: Projection,
  progress: Progress,
): Promise<void> {
  const { name } = projection
  const built = await foldShadow(ports, projection, START, null, progress)
  await createIndexes(ports.pool, projection, shadowSchema(name))
  await inTransaction(ports.pool, async (client) => {
    const row = await heldRow(client, name)
    // What came in the meantime is little. What comes from here on waits in its updater.
    const head = await ports.store.head()
    const folded = await foldShadow(ports, projection, built, null, progress)
    const position = [head, folded, row.position].reduce(later)
    await swapTables(client, projection)
    await storePosition(client, projection, position)
  })
}

/** Another process that starts may have built it meanwhile. */
async function renew(
  ports: ShadowPorts,
  projection: Projection,
  progress: Progress,
): Promise<void> {
  const { version } = await storedRow(ports.pool, projection.name)
  if (version !== projection.version) await rebuild(ports, projection, progress)
}

/** Runs `work` while no other process makes a shadow of this read model. */
function alone<T>(pool: Pool, name: string, work: () => Promise<T>): Promise<T> {
  // Where it fails, the lock ends with its connection.
  return onConnection(pool, async (client) => {
    await client.query(SHADOW, [name])
    const result = await work()
    await client.query(DONE_SHADOW, [name])
    return result
  })
}

/**
 * Folds events after one place up to another (null: the head) into the schema beside, a transaction
 * a page. Folding from the start makes the schema anew. Answers the place of the last event read.
 */
async function foldShadow(
  ports: ShadowPorts,
  projection: Projection,
  after: Position,
  until: Position | null,
  progress: Progress,
): Promise<Position> {
  const schema = shadowSchema(projection.name)
  if (after === START) {
    await inTransaction(ports.pool, async (client) => {
      await client.query(`drop schema if exists "${schema}" cascade; create schema "${schema}"`)
      await createTables(client, projection, schema)
    })
  }
  let last = after
  let events = 0
  const prefixes = projection.categories
  for await (const page of ports.store.readAll({ after, prefixes })) {
    const wanted = page.filter(
      (stored) => until === null || comparePositions(stored.position, until) <= 0,
    )
    const facts = factsOf(projection, wanted)
    if (facts.length > 0) await foldPage(ports, projection, schema, facts)
    last = wanted.at(-1)?.position ?? last
    events += wanted.length
    progress(events)
    if (wanted.length < page.length) break
  }
  return last
}

/** Folds a page of events in one transaction; one that cannot be is found one by one, and named. */
async function foldPage(
  ports: ShadowPorts,
  projection: Projection,
  schema: string,
  page: readonly StoredEvent[],
): Promise<void> {
  try {
    const facts = page.map((stored) => ports.decode(stored))
    const work = (client: PoolClient) =>
      projection.apply(kyselyOn(client) as Transaction<unknown>, facts, ports.opener)
    await inTransaction(ports.pool, work, schema)
  } catch (error) {
    if (isConnectionFault(error)) throw error
    const [first] = page
    if (page.length === 1 && first !== undefined) throw foldFault(first, error)
    for (const stored of page) await foldPage(ports, projection, schema, [stored])
  }
}
