/** Folding a read model anew beside the live one: to swap them, or to compare them. */
import type { Transaction } from "kysely"
import type { PoolClient } from "pg"
import type { Position } from "../../eventstore/port.ts"
import { START, comparePositions } from "../../eventstore/port.ts"
import { kyselyOn } from "../kysely-on.ts"
import type { Lane, LanePorts } from "./lane.ts"
import type { Progress, Verification } from "./port.ts"
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
 * @throws FormatFault and what else `apply` throws: the live one stays as it was
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

/** Builds the read model beside, up to where the live one stands, and compares their tables. */
export async function verifyBeside(
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
    return { name: projection.name, same: tables.every((one) => one.live === one.rebuilt), tables }
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
    const facts = wanted
      .filter((stored) => projection.categories.includes(stored.stream.split("-", 1)[0] as string))
      .map((stored) => ports.decode(stored))
    if (facts.length > 0) {
      await inTransaction(ports.pool, async (client: PoolClient) => {
        await client.query(`set local search_path to "${schema}"`)
        await projection.apply(kyselyOn(client) as Transaction<unknown>, facts, ports.opener)
      })
    }
    last = wanted.at(-1)?.position ?? last
    events += wanted.length
    progress(events)
    if (wanted.length < page.length) break
  }
  return last
}
