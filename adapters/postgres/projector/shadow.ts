/** Folding a read model anew beside the live one, to swap them. */
import type { Transaction } from "kysely"
import type { Pool, PoolClient } from "pg"
import type { Projection } from "../../../projections/kernel/projection.ts"
import type { EventStore, Position, StoredEvent } from "../../eventstore/port.ts"
import { START, comparePositions, laterPosition } from "../../eventstore/port.ts"
import { isConnectionFault } from "../port.ts"
import { kyselyOnConnection, withConnection } from "../database.ts"
import type { ComparisonPorts } from "./comparison.ts"
import { compareWithRebuild } from "./comparison.ts"
import {
  factsOf,
  shadowSchema,
  createIndexes,
  createTables,
  lockStoredProjection,
  inTransaction,
  storePosition,
  readStoredProjection,
  swapTables,
} from "./tables.ts"
import type { ComparisonScope, FoldProgress, ReadModelVerification } from "./port.ts"
import { toFoldFault } from "./port.ts"

/** What folding beside works with. */
interface ShadowPorts extends ComparisonPorts {
  readonly store: EventStore
}

/** The lock of whoever folds a read model beside the live one: there is one place for it. */
const LOCK_SHADOW = "select pg_advisory_lock(hashtextextended($1, 7005))"
const TRY_LOCK_SHADOW = "select pg_try_advisory_lock(hashtextextended($1, 7005)) as held"
const UNLOCK_SHADOW = "select pg_advisory_unlock(hashtextextended($1, 7005))"

/** Rebuilding and comparing. */
export type ShadowRebuilds = ReturnType<typeof openShadowRebuilds>

/** One after the other: each holds up to three connections. */
export function openShadowRebuilds(ports: ShadowPorts) {
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
    rebuild: (projection: Projection, progress: FoldProgress): Promise<void> =>
      inTurn(() =>
        withShadowLock(ports.pool, projection.name, () => rebuild(ports, projection, progress)),
      ),
    /**
     * The same for a read model of another version; one that is of this version by now is left.
     *
     * @throws FoldFault: the live one stays as it was
     */
    renew: (projection: Projection, progress: FoldProgress): Promise<void> =>
      inTurn(() =>
        withShadowLock(ports.pool, projection.name, () =>
          rebuildOutdated(ports, projection, progress),
        ),
      ),
    /** Compares read models with a rebuild of each up to where it stands. */
    verify: (
      projections: readonly Projection[],
      comparison: ComparisonScope,
    ): Promise<readonly ReadModelVerification[]> =>
      inTurn(() => compareWithRebuild(ports, projections, comparison)),
  }
}

/** Drops what a shadow rebuild that was cut short left. False where somebody folds there just now. */
export function dropShadowSchema(pool: Pool, name: string): Promise<boolean> {
  return withConnection(pool, async (client) => {
    const { rows } = await client.query<{ held: boolean }>(TRY_LOCK_SHADOW, [name])
    if (rows[0]?.held !== true) return false
    await client.query(`drop schema if exists "${shadowSchema(name)}" cascade`)
    await client.query(UNLOCK_SHADOW, [name])
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
  progress: FoldProgress,
): Promise<void> {
  const { name } = projection
  const built = await foldIntoShadow(ports, projection, START, null, progress)
  await createIndexes(ports.pool, projection, shadowSchema(name))
  await inTransaction(ports.pool, async (client) => {
    const row = await lockStoredProjection(client, name)
    // What came in the meantime is little. What comes from here on waits in its updater.
    const head = await ports.store.head()
    const folded = await foldIntoShadow(ports, projection, built, null, progress)
    const position = [head, folded, row.position].reduce(laterPosition)
    await swapTables(client, projection)
    await storePosition(client, projection, position)
  })
}

/** Another process that starts may have built it meanwhile. */
async function rebuildOutdated(
  ports: ShadowPorts,
  projection: Projection,
  progress: FoldProgress,
): Promise<void> {
  const { version } = await readStoredProjection(ports.pool, projection.name)
  if (version !== projection.version) await rebuild(ports, projection, progress)
}

/** Runs `work` while no other process makes a shadow of this read model. */
function withShadowLock<T>(pool: Pool, name: string, work: () => Promise<T>): Promise<T> {
  // Where it fails, the lock ends with its connection.
  return withConnection(pool, async (client) => {
    await client.query(LOCK_SHADOW, [name])
    const result = await work()
    await client.query(UNLOCK_SHADOW, [name])
    return result
  })
}

/**
 * Folds events after one place up to another (null: the head) into the schema beside, a transaction
 * a page. Folding from the start makes the schema anew. Answers the place of the last event read.
 */
async function foldIntoShadow(
  ports: ShadowPorts,
  projection: Projection,
  after: Position,
  until: Position | null,
  progress: FoldProgress,
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
      projection.apply(kyselyOnConnection(client) as Transaction<unknown>, facts, ports.opener)
    await inTransaction(ports.pool, work, schema)
  } catch (error) {
    if (isConnectionFault(error)) throw error
    const [first] = page
    if (page.length === 1 && first !== undefined) throw toFoldFault(first, error)
    for (const stored of page) await foldPage(ports, projection, schema, [stored])
  }
}
