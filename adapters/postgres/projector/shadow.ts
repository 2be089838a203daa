/** Rebuilds a read model in a shadow next to the live one, and swaps them. */
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

interface ShadowPorts extends ComparisonPorts {
  readonly store: EventStore
}

/** Held during a rebuild of a read model, because it has one shadow schema. */
const LOCK_SHADOW = "select pg_advisory_lock(hashtextextended($1, 7005))"
const TRY_LOCK_SHADOW = "select pg_try_advisory_lock(hashtextextended($1, 7005)) as held"
const UNLOCK_SHADOW = "select pg_advisory_unlock(hashtextextended($1, 7005))"

/** Rebuilds and verifies read models. */
export type ShadowRebuilds = ReturnType<typeof openShadowRebuilds>

/** Rebuilds run one after the other, because each uses up to three connections. */
export function openShadowRebuilds(ports: ShadowPorts) {
  let last: Promise<unknown> = Promise.resolve()
  const serialize = <T>(work: () => Promise<T>): Promise<T> => {
    const turn = last.then(work)
    last = turn.catch(() => undefined)
    return turn
  }
  return {
    /** Rebuilds a read model and replaces the live one. @throws FoldFault: the live one stays */
    rebuild: (projection: Projection, progress: FoldProgress): Promise<void> =>
      serialize(() =>
        withShadowLock(ports.pool, projection.name, () => rebuild(ports, projection, progress)),
      ),
    /**
     * The same for a read model of another version; does nothing if it has this version by now.
     *
     * @throws FoldFault: the live one stays
     */
    rebuildOutdated: (projection: Projection, progress: FoldProgress): Promise<void> =>
      serialize(() =>
        withShadowLock(ports.pool, projection.name, () =>
          rebuildOutdated(ports, projection, progress),
        ),
      ),
    verify: (
      projections: readonly Projection[],
      comparison: ComparisonScope,
    ): Promise<readonly ReadModelVerification[]> =>
      serialize(() => compareWithRebuild(ports, projections, comparison)),
  }
}

/** Drops the shadow that an interrupted rebuild left. False if a rebuild is running. */
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
 * Any process may be writing the live read model. Writers wait for the locked position row, then
 * find a new position and read it again.
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
    // Few events came in the meantime. Later ones wait in their updater.
    const head = await ports.store.head()
    const folded = await foldIntoShadow(ports, projection, built, null, progress)
    const position = [head, folded, row.position].reduce(laterPosition)
    await swapTables(client, projection)
    await storePosition(client, projection, position)
  })
}

/** Another starting process may have rebuilt it meanwhile. */
async function rebuildOutdated(
  ports: ShadowPorts,
  projection: Projection,
  progress: FoldProgress,
): Promise<void> {
  const { version } = await readStoredProjection(ports.pool, projection.name)
  if (version !== projection.version) await rebuild(ports, projection, progress)
}

/** Runs `work` while no other process rebuilds this read model. */
function withShadowLock<T>(pool: Pool, name: string, work: () => Promise<T>): Promise<T> {
  // If it fails, the lock ends with its connection.
  return withConnection(pool, async (client) => {
    await client.query(LOCK_SHADOW, [name])
    const result = await work()
    await client.query(UNLOCK_SHADOW, [name])
    return result
  })
}

/**
 * Folds events after one position up to another (null: the head) into the shadow schema, one transaction per page.
 * Folding from the start recreates the schema. Returns the position of the last event read.
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

/** Folds a page of events in one transaction; if that fails, one event at a time to name the one that fails. */
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
