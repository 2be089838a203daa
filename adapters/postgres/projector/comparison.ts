/**
 * Comparing read models with a rebuild. The events are read once and folded for all of them into
 * temporary tables, which end with their connection; PostgreSQL compares the rows.
 */
import type { Transaction } from "kysely"
import type { Pool, PoolClient } from "pg"
import type { Projection, ProjectedFact } from "../../../projections/kernel/projection.ts"
import type { EventStore, Position, StoredEvent } from "../../eventstore/port.ts"
import { START, comparePositions, laterPosition } from "../../eventstore/port.ts"
import { kyselyOnConnection } from "../database.ts"
import { isConnectionFault } from "../port.ts"
import {
  factsOf,
  LIVE_SCHEMA,
  checksum,
  lockStoredProjection,
  readStoredProjections,
} from "./tables.ts"
import type { ComparisonScope, ReadModelVerification } from "./port.ts"
import { FoldFault, toFoldFault } from "./port.ts"
import type { WriterPorts } from "./writer.ts"

/** While PostgreSQL folds on one connection, this process prepares what goes to the other. */
const CONNECTIONS = 2
const TEMPORARY_SCHEMA = "pg_temp"

/** What comparing works with. */
export interface ComparisonPorts extends WriterPorts {
  /** The store without what is held back; reading it must not hold back more. */
  readonly comparisonStore: Pick<EventStore, "readAll">
}

/** A read model while it is folded again. */
interface FoldedModel {
  readonly projection: Projection
  /** How far its live rows were folded when this began. */
  readonly livePosition: Position
  fault: string | null
}

/**
 * Compares read models, or their rows of one company, with a rebuild up to where each stands.
 *
 * @throws the signal's reason; Unavailable where the events cannot be read; the driver's errors where the
 * database cannot be reached
 */
export async function compareWithRebuild(
  ports: ComparisonPorts,
  projections: readonly Projection[],
  comparison: ComparisonScope,
): Promise<readonly ReadModelVerification[]> {
  const positions = new Map(
    (await readStoredProjections(ports.pool)).map((row) => [row.name, row.position]),
  )
  const folding = projections.map((projection): FoldedModel => {
    return { projection, livePosition: positions.get(projection.name) ?? START, fault: null }
  })
  const lanes = await openConnections(ports.pool, folding)
  try {
    const until = folding.map(({ livePosition }) => livePosition).reduce(laterPosition, START)
    await foldAll(ports, lanes, until, comparison)
    const found = await Promise.all(lanes.map((lane) => compareModels(ports, lane, comparison)))
    const byName = new Map(found.flat().map((one) => [one.name, one]))
    return folding.flatMap(({ projection }) => byName.get(projection.name) ?? [])
  } finally {
    // The tables go with their connections.
    for (const { client } of lanes) client.release(true)
  }
}

/** A connection, and the read models that are folded on it. */
interface FoldConnection {
  readonly client: PoolClient
  readonly models: readonly FoldedModel[]
}

async function openConnections(
  pool: Pool,
  folding: readonly FoldedModel[],
): Promise<readonly FoldConnection[]> {
  const lanes: FoldConnection[] = []
  try {
    for (let i = 0; i < Math.min(CONNECTIONS, folding.length); i += 1) {
      const own = folding.filter((_, at) => at % CONNECTIONS === i)
      lanes.push({ client: await pool.connect(), models: own })
    }
    for (const { client, models: own } of lanes) {
      const made = own.map(({ projection }) => projection.create)
      await client.query([`set search_path to ${TEMPORARY_SCHEMA}`, ...made].join(";\n"))
    }
    return lanes
  } catch (error) {
    for (const { client } of lanes) client.release(true)
    throw error
  }
}

/** Folds all events up to a place, those of each read model up to where its live rows stand. */
async function foldAll(
  ports: ComparisonPorts,
  lanes: readonly FoldConnection[],
  until: Position,
  { range, isWanted, onProgress, signal }: ComparisonScope,
): Promise<void> {
  let events = 0
  for await (const page of ports.comparisonStore.readAll(range)) {
    signal?.throwIfAborted()
    const wanted = page.filter((stored) => isWanted(stored))
    await Promise.all(lanes.map((lane) => foldPage(ports, lane, wanted)))
    events += page.length
    onProgress(events, page.at(-1)?.position ?? null)
    const last = page.at(-1)
    if (last !== undefined && comparePositions(last.position, until) >= 0) return
  }
}

/** What a read model takes of a page. */
interface FoldPart {
  readonly model: FoldedModel
  readonly facts: readonly StoredEvent[]
}

/** Folds a page in one transaction; where that cannot be, read model by read model, and then fact by fact. */
async function foldPage(
  ports: ComparisonPorts,
  { client, models }: FoldConnection,
  page: readonly StoredEvent[],
): Promise<void> {
  const parts = models.flatMap((model): readonly FoldPart[] => {
    if (model.fault !== null) return []
    const facts = factsOf(model.projection, page)
    const own = facts.filter(({ position }) => comparePositions(position, model.livePosition) <= 0)
    return own.length === 0 ? [] : [{ model, facts: own }]
  })
  if (parts.length === 0 || (await isFolded(ports, client, parts))) return
  for (const part of parts) await foldPart(ports, client, part)
}

/** Folds a read model's facts; the first that it cannot take is its fault. */
async function foldPart(
  ports: ComparisonPorts,
  client: PoolClient,
  { model, facts }: FoldPart,
): Promise<void> {
  if (await isFolded(ports, client, [{ model, facts }])) return
  for (const stored of facts) {
    const fault = await tryFold(ports, client, [{ model, facts: [stored] }])
    if (fault === null) continue
    model.fault = toFoldFault(stored, fault.cause).message
    return
  }
}

async function isFolded(
  ports: ComparisonPorts,
  client: PoolClient,
  parts: readonly FoldPart[],
): Promise<boolean> {
  return (await tryFold(ports, client, parts)) === null
}

/** Folds parts in one transaction; answers what was thrown, and then nothing was folded. */
async function tryFold(
  ports: ComparisonPorts,
  client: PoolClient,
  parts: readonly FoldPart[],
): Promise<{ readonly cause: unknown } | null> {
  await client.query("begin")
  try {
    for (const part of parts) await applyFacts(ports, client, part)
    await client.query("commit")
    return null
  } catch (cause) {
    if (isConnectionFault(cause)) throw cause
    await client.query("rollback")
    return { cause }
  }
}

async function applyFacts(
  { decode, opener }: ComparisonPorts,
  client: PoolClient,
  { model, facts }: FoldPart,
): Promise<void> {
  const recorded: readonly ProjectedFact[] = facts.map((stored) => decode(stored))
  const tx = kyselyOnConnection(client, "again") as Transaction<unknown>
  await model.projection.apply(tx, recorded, opener)
}

/** Compares the read models of a lane, one after the other. */
async function compareModels(
  ports: ComparisonPorts,
  lane: FoldConnection,
  comparison: ComparisonScope,
): Promise<readonly ReadModelVerification[]> {
  const found: ReadModelVerification[] = []
  for (const one of lane.models) found.push(await compareModel(ports, lane.client, one, comparison))
  return found
}

/** Folds what came meanwhile and compares, while no process writes the read model. */
async function compareModel(
  ports: ComparisonPorts,
  client: PoolClient,
  one: FoldedModel,
  comparison: ComparisonScope,
): Promise<ReadModelVerification> {
  const { projection } = one
  const { name } = projection
  const faulty = (fault: string): ReadModelVerification => ({
    name,
    same: false,
    fault,
    tables: [],
  })
  if (one.fault !== null) return faulty(one.fault)
  await client.query("begin")
  try {
    const { position, version } = await lockStoredProjection(client, name)
    if (version !== projection.version) {
      throw new FoldFault("another version of this program keeps it up")
    }
    await foldTail(ports, client, one, position, comparison)
    const tables = []
    const { companyId } = comparison
    for (const table of projection.tables) {
      const live = await checksum(client, LIVE_SCHEMA, table, companyId)
      tables.push({
        table,
        live,
        rebuilt: await checksum(client, TEMPORARY_SCHEMA, table, companyId),
      })
    }
    await client.query("commit")
    const same = tables.every(({ live, rebuilt }) => live === rebuilt)
    return { name, same, fault: null, tables }
  } catch (error) {
    if (isConnectionFault(error)) throw error
    await client.query("rollback")
    comparison.signal?.throwIfAborted()
    if (error instanceof FoldFault) return faulty(error.message)
    return faulty(`the comparison: ${error instanceof Error ? error.message : String(error)}`)
  }
}

async function foldTail(
  ports: ComparisonPorts,
  client: PoolClient,
  model: FoldedModel,
  until: Position,
  { range, isWanted }: ComparisonScope,
): Promise<void> {
  if (comparePositions(model.livePosition, until) >= 0) return
  for await (const page of ports.comparisonStore.readAll({ ...range, after: model.livePosition })) {
    const wanted = page.filter((stored) => isWanted(stored))
    const upTo = wanted.filter(({ position }) => comparePositions(position, until) <= 0)
    for (const stored of factsOf(model.projection, upTo)) {
      try {
        await applyFacts(ports, client, { model, facts: [stored] })
      } catch (error) {
        if (isConnectionFault(error)) throw error
        throw toFoldFault(stored, error)
      }
    }
    if (comparePositions((page.at(-1) as StoredEvent).position, until) >= 0) return
  }
}
