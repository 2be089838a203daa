/** Folding a read model anew beside the live one: to swap them, or to compare them. */
import type { Transaction } from "kysely"
import type { PoolClient } from "pg"
import type { Projection } from "../../../projections/projection.ts"
import type { Position, StoredEvent } from "../../eventstore/port.ts"
import { START, comparePositions } from "../../eventstore/port.ts"
import { isConnectionFault } from "../port.ts"
import { kyselyOn } from "../kysely-on.ts"
import type { Lane, LanePorts } from "./lane.ts"
import type { Progress, Verification } from "./port.ts"
import { FoldFault } from "./port.ts"
import {
  LIVE_SCHEMA,
  besideSchema,
  checksum,
  createTables,
  inTransaction,
  swapTables,
} from "./tables.ts"

/**
 * Builds the read model beside and puts it in the place of the live one. One that is stopped begins
 * to run again.
 *
 * @throws FoldFault: the live one stays as it was
 */
export async function rebuildBeside(
  ports: LanePorts,
  lane: Lane,
  progress: Progress,
): Promise<void> {
  const { projection } = lane
  const built = await foldBeside(ports, lane, START, null, progress)
  await lane.whileStill(async () => {
    // What came in the meantime is little. What comes from here on waits in the lane.
    const head = await ports.store.head()
    const folded = await foldBeside(ports, lane, built, null, progress)
    const position = [head, folded, lane.position].reduce(later)
    await inTransaction(ports.pool, async (client) => {
      await swapTables(client, projection)
      await client.query(
        `update ledger.projections
         set version = $2, commit_position = $3, prepare_position = $4, fault = null
         where name = $1`,
        [projection.name, projection.version, position.commit, position.prepare],
      )
    })
    lane.restart(position)
  })
}

function later(a: Position, b: Position): Position {
  return comparePositions(a, b) < 0 ? b : a
}

/** Compares a read model's tables with a rebuild up to where it stands. */
export async function verifyBeside(
  ports: LanePorts,
  lane: Lane,
  progress: Progress,
): Promise<Verification> {
  try {
    return await compareBeside(ports, lane, progress)
  } catch (error) {
    if (!(error instanceof FoldFault)) throw error
    return { name: lane.projection.name, same: false, fault: error.message, tables: [] }
  }
}

async function compareBeside(
  ports: LanePorts,
  lane: Lane,
  progress: Progress,
): Promise<Verification> {
  const { projection } = lane
  const built = await foldBeside(ports, lane, START, lane.position, progress)
  return lane.whileStill(async () => {
    await foldBeside(ports, lane, built, lane.position, progress)
    const schema = besideSchema(projection.name)
    const tables = await inTransaction(ports.pool, async (client) => {
      const compared = []
      for (const table of projection.tables) {
        const live = await checksum(client, LIVE_SCHEMA, table)
        compared.push({ table, live, rebuilt: await checksum(client, schema, table) })
      }
      await client.query(`drop schema "${schema}" cascade`)
      return compared
    })
    const same = tables.every((one) => one.live === one.rebuilt)
    return { name: projection.name, same, fault: null, tables }
  })
}

/**
 * Folds events after one place up to another (null: the head) into the schema beside, a transaction
 * a page. Folding from the start makes the schema anew. Answers the place of the last event read.
 */
async function foldBeside(
  ports: LanePorts,
  lane: Lane,
  after: Position,
  until: Position | null,
  progress: Progress,
): Promise<Position> {
  const { projection } = lane
  const schema = besideSchema(projection.name)
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
    const facts = wanted.filter((stored) =>
      projection.categories.includes(stored.stream.split("-", 1)[0] as string),
    )
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
  ports: LanePorts,
  projection: Projection,
  schema: string,
  page: readonly StoredEvent[],
): Promise<void> {
  try {
    const facts = page.map((stored) => ports.decode(stored))
    await inTransaction(ports.pool, async (client: PoolClient) => {
      await client.query(`set local search_path to "${schema}"`)
      await projection.apply(kyselyOn(client) as Transaction<unknown>, facts, ports.opener)
    })
  } catch (error) {
    if (isConnectionFault(error)) throw error
    const [first] = page
    if (page.length === 1 && first !== undefined) {
      const reason = error instanceof Error ? error.message : String(error)
      const message = `${first.stream} revision ${first.revision}: ${reason}`
      throw new FoldFault(message, { cause: error })
    }
    for (const stored of page) await foldPage(ports, projection, schema, [stored])
  }
}
