/**
 * Compares read models with a rebuild. The events are read once and folded for all read models into
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

/** While PostgreSQL folds on one connection, this process prepares the statements of the other. */
const CONNECTIONS = 2
const TEMPORARY_SCHEMA = "pg_temp"

export interface ComparisonPorts extends WriterPorts {
  /** The store without corrupt events; reading it must not mark more streams as corrupt. */
  readonly comparisonStore: Pick<EventStore, "readAll">
}

interface FoldedModel {
  readonly projection: Projection
  /** The position of its live rows at the start. */
  readonly livePosition: Position
  fault: string | null
}

/**
 * Compares read models, or their rows of one company, with a rebuild up to the live position of each.
 *
 * @throws the signal's reason; Unavailable if the events cannot be read; the driver's errors
 */
export async function compareWithRebuild(
  ports: ComparisonPorts,
  projections: readonly Projection[],
  comparison: ComparisonScope,
): Promise<readonly ReadModelVerification[]> {
  const positions = new Map(
    (await readStoredProjections(ports.pool)).map((row) => [row.name, row.position]),
  )
  const foldedModels = projections.map((projection): FoldedModel => {
    return { projection, livePosition: positions.get(projection.name) ?? START, fault: null }
  })
  const connections = await openConnections(ports.pool, foldedModels)
  try {
    const until = foldedModels.map(({ livePosition }) => livePosition).reduce(laterPosition, START)
    await foldAll(ports, connections, until, comparison)
    const verifications = await Promise.all(
      connections.map((connection) => compareModels(ports, connection, comparison)),
    )
    const byName = new Map(verifications.flat().map((model) => [model.name, model]))
    return foldedModels.flatMap(({ projection }) => byName.get(projection.name) ?? [])
  } finally {
    // The temporary tables end with their connections.
    for (const { client } of connections) client.release(true)
  }
}

interface FoldConnection {
  readonly client: PoolClient
  readonly models: readonly FoldedModel[]
}

async function openConnections(
  pool: Pool,
  foldedModels: readonly FoldedModel[],
): Promise<readonly FoldConnection[]> {
  const connections: FoldConnection[] = []
  try {
    for (let i = 0; i < Math.min(CONNECTIONS, foldedModels.length); i += 1) {
      const models = foldedModels.filter((_, index) => index % CONNECTIONS === i)
      connections.push({ client: await pool.connect(), models })
    }
    for (const { client, models } of connections) {
      const statements = models.map(({ projection }) => projection.create)
      await client.query([`set search_path to ${TEMPORARY_SCHEMA}`, ...statements].join(";\n"))
    }
    return connections
  } catch (error) {
    for (const { client } of connections) client.release(true)
    throw error
  }
}

/** Folds all events up to a position, for each read model up to its live position. */
async function foldAll(
  ports: ComparisonPorts,
  connections: readonly FoldConnection[],
  until: Position,
  { range, isWanted, onProgress, signal }: ComparisonScope,
): Promise<void> {
  let events = 0
  for await (const page of ports.comparisonStore.readAll(range)) {
    signal?.throwIfAborted()
    const wanted = page.filter((stored) => isWanted(stored))
    await Promise.all(connections.map((connection) => foldPage(ports, connection, wanted)))
    events += page.length
    onProgress(events, page.at(-1)?.position ?? null)
    const last = page.at(-1)
    if (last !== undefined && comparePositions(last.position, until) >= 0) return
  }
}

interface FoldPart {
  readonly model: FoldedModel
  readonly facts: readonly StoredEvent[]
}

/** Folds a page in one transaction; if that fails, one read model and then one fact at a time. */
async function foldPage(
  ports: ComparisonPorts,
  { client, models }: FoldConnection,
  page: readonly StoredEvent[],
): Promise<void> {
  const parts = models.flatMap((model): readonly FoldPart[] => {
    if (model.fault !== null) return []
    const facts = factsOf(model.projection, page)
    const liveFacts = facts.filter(
      ({ position }) => comparePositions(position, model.livePosition) <= 0,
    )
    return liveFacts.length === 0 ? [] : [{ model, facts: liveFacts }]
  })
  if (parts.length === 0 || (await isFolded(ports, client, parts))) return
  for (const part of parts) await foldPart(ports, client, part)
}

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

/** Folds parts in one transaction; returns the error if it was rolled back. */
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

async function compareModels(
  ports: ComparisonPorts,
  connection: FoldConnection,
  comparison: ComparisonScope,
): Promise<readonly ReadModelVerification[]> {
  const verifications: ReadModelVerification[] = []
  for (const model of connection.models)
    verifications.push(await compareModel(ports, connection.client, model, comparison))
  return verifications
}

/** Folds the remaining events and compares, while no process writes the read model. */
async function compareModel(
  ports: ComparisonPorts,
  client: PoolClient,
  model: FoldedModel,
  comparison: ComparisonScope,
): Promise<ReadModelVerification> {
  const { projection } = model
  const { name } = projection
  const failed = (fault: string): ReadModelVerification => ({
    name,
    same: false,
    fault,
    tables: [],
  })
  if (model.fault !== null) return failed(model.fault)
  await client.query("begin")
  try {
    const { position, version } = await lockStoredProjection(client, name)
    if (version !== projection.version) {
      throw new FoldFault("another version of this program writes it")
    }
    await foldTail(ports, client, model, position, comparison)
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
    if (error instanceof FoldFault) return failed(error.message)
    return failed(`the comparison: ${error instanceof Error ? error.message : String(error)}`)
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
