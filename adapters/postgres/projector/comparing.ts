/**
 * Comparing read models with a rebuild. The events are read once and folded for all of them into
 * temporary tables, which end with their connection; PostgreSQL compares the rows.
 */
import type { Transaction } from "kysely"
import type { Pool, PoolClient } from "pg"
import type { Projection, Recorded } from "../../../projections/kernel/projection.ts"
import type { EventStore, Position, StoredEvent } from "../../eventstore/port.ts"
import { START, comparePositions, later } from "../../eventstore/port.ts"
import { kyselyOn } from "../database.ts"
import { isConnectionFault } from "../port.ts"
import { factsOf, LIVE_SCHEMA, checksum, heldRow, storedRows } from "./tables.ts"
import type { Comparison, Verification } from "./port.ts"
import { FoldFault, foldFault } from "./port.ts"
import type { WriterPorts } from "./writer.ts"

/** While PostgreSQL folds on one connection, this process prepares what goes to the other. */
const LANES = 2
const TEMPORARY = "pg_temp"

/** What comparing works with. */
export interface ComparingPorts extends WriterPorts {
  /** The store without what is held back; reading it must not hold back more. */
  readonly comparedStore: Pick<EventStore, "readAll">
}

/** A read model while it is folded again. */
interface Folding {
  readonly projection: Projection
  /** How far its live rows were folded when this began. */
  readonly near: Position
  fault: string | null
}

/**
 * Compares read models, or their rows of one company, with a rebuild up to where each stands.
 *
 * @throws the signal's reason; Unavailable where the events cannot be read; the driver's errors where the
 * database cannot be reached
 */
export async function compare(
  ports: ComparingPorts,
  projections: readonly Projection[],
  comparison: Comparison,
): Promise<readonly Verification[]> {
  const positions = new Map((await storedRows(ports.pool)).map((row) => [row.name, row.position]))
  const folding = projections.map((projection): Folding => {
    return { projection, near: positions.get(projection.name) ?? START, fault: null }
  })
  const lanes = await openLanes(ports.pool, folding)
  try {
    const until = folding.map(({ near }) => near).reduce(later, START)
    await foldAll(ports, lanes, until, comparison)
    const found = await Promise.all(lanes.map((lane) => compareLane(ports, lane, comparison)))
    const byName = new Map(found.flat().map((one) => [one.name, one]))
    return folding.flatMap(({ projection }) => byName.get(projection.name) ?? [])
  } finally {
    // The tables go with their connections.
    for (const { client } of lanes) client.release(true)
  }
}

/** A connection, and the read models that are folded on it. */
interface Lane {
  readonly client: PoolClient
  readonly folding: readonly Folding[]
}

async function openLanes(pool: Pool, folding: readonly Folding[]): Promise<readonly Lane[]> {
  const lanes: Lane[] = []
  try {
    for (let i = 0; i < Math.min(LANES, folding.length); i += 1) {
      const own = folding.filter((_, at) => at % LANES === i)
      lanes.push({ client: await pool.connect(), folding: own })
    }
    for (const { client, folding: own } of lanes) {
      const made = own.map(({ projection }) => projection.create)
      await client.query([`set search_path to ${TEMPORARY}`, ...made].join(";\n"))
    }
    return lanes
  } catch (error) {
    for (const { client } of lanes) client.release(true)
    throw error
  }
}

/** Folds all events up to a place, those of each read model up to where its live rows stand. */
async function foldAll(
  ports: ComparingPorts,
  lanes: readonly Lane[],
  until: Position,
  { range, isWanted, progress, signal }: Comparison,
): Promise<void> {
  let events = 0
  for await (const page of ports.comparedStore.readAll(range)) {
    signal?.throwIfAborted()
    const wanted = page.filter((stored) => isWanted(stored))
    await Promise.all(lanes.map((lane) => foldPage(ports, lane, wanted)))
    events += page.length
    progress(events, page.at(-1)?.position ?? null)
    const last = page.at(-1)
    if (last !== undefined && comparePositions(last.position, until) >= 0) return
  }
}

/** What a read model takes of a page. */
interface Part {
  readonly one: Folding
  readonly facts: readonly StoredEvent[]
}

/** Folds a page in one transaction; where that cannot be, read model by read model, and then fact by fact. */
async function foldPage(
  ports: ComparingPorts,
  { client, folding }: Lane,
  page: readonly StoredEvent[],
): Promise<void> {
  const parts = folding.flatMap((one): readonly Part[] => {
    if (one.fault !== null) return []
    const facts = factsOf(one.projection, page)
    const own = facts.filter(({ position }) => comparePositions(position, one.near) <= 0)
    return own.length === 0 ? [] : [{ one, facts: own }]
  })
  if (parts.length === 0 || (await isFolded(ports, client, parts))) return
  for (const part of parts) await foldPart(ports, client, part)
}

/** Folds a read model's facts; the first that it cannot take is its fault. */
async function foldPart(
  ports: ComparingPorts,
  client: PoolClient,
  { one, facts }: Part,
): Promise<void> {
  if (await isFolded(ports, client, [{ one, facts }])) return
  for (const stored of facts) {
    const fault = await tried(ports, client, [{ one, facts: [stored] }])
    if (fault === null) continue
    one.fault = foldFault(stored, fault.cause).message
    return
  }
}

async function isFolded(
  ports: ComparingPorts,
  client: PoolClient,
  parts: readonly Part[],
): Promise<boolean> {
  return (await tried(ports, client, parts)) === null
}

/** Folds parts in one transaction; answers what was thrown, and then nothing was folded. */
async function tried(
  ports: ComparingPorts,
  client: PoolClient,
  parts: readonly Part[],
): Promise<{ readonly cause: unknown } | null> {
  await client.query("begin")
  try {
    for (const part of parts) await apply(ports, client, part)
    await client.query("commit")
    return null
  } catch (cause) {
    if (isConnectionFault(cause)) throw cause
    await client.query("rollback")
    return { cause }
  }
}

async function apply(
  { decode, opener }: ComparingPorts,
  client: PoolClient,
  { one, facts }: Part,
): Promise<void> {
  const recorded: readonly Recorded[] = facts.map((stored) => decode(stored))
  const tx = kyselyOn(client, "again") as Transaction<unknown>
  await one.projection.apply(tx, recorded, opener)
}

/** Compares the read models of a lane, one after the other. */
async function compareLane(
  ports: ComparingPorts,
  lane: Lane,
  comparison: Comparison,
): Promise<readonly Verification[]> {
  const found: Verification[] = []
  for (const one of lane.folding) found.push(await compareOne(ports, lane.client, one, comparison))
  return found
}

/** Folds what came meanwhile and compares, while no process writes the read model. */
async function compareOne(
  ports: ComparingPorts,
  client: PoolClient,
  one: Folding,
  comparison: Comparison,
): Promise<Verification> {
  const { projection } = one
  const { name } = projection
  const faulty = (fault: string): Verification => ({ name, same: false, fault, tables: [] })
  if (one.fault !== null) return faulty(one.fault)
  await client.query("begin")
  try {
    const { position, version } = await heldRow(client, name)
    if (version !== projection.version) {
      throw new FoldFault("another version of this program keeps it up")
    }
    await foldTail(ports, client, one, position, comparison)
    const tables = []
    const { companyId } = comparison
    for (const table of projection.tables) {
      const live = await checksum(client, LIVE_SCHEMA, table, companyId)
      tables.push({ table, live, rebuilt: await checksum(client, TEMPORARY, table, companyId) })
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
  ports: ComparingPorts,
  client: PoolClient,
  one: Folding,
  until: Position,
  { range, isWanted }: Comparison,
): Promise<void> {
  if (comparePositions(one.near, until) >= 0) return
  for await (const page of ports.comparedStore.readAll({ ...range, after: one.near })) {
    const wanted = page.filter((stored) => isWanted(stored))
    const upTo = wanted.filter(({ position }) => comparePositions(position, until) <= 0)
    for (const stored of factsOf(one.projection, upTo)) {
      try {
        await apply(ports, client, { one, facts: [stored] })
      } catch (error) {
        if (isConnectionFault(error)) throw error
        throw foldFault(stored, error)
      }
    }
    if (comparePositions((page.at(-1) as StoredEvent).position, until) >= 0) return
  }
}
