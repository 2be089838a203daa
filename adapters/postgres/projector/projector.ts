/**
 * Keeps all read models up: one reader of all streams feeds a lane for each, so a slow or stopped
 * one holds up no other for longer than its lane has room.
 */
import type { Pool } from "pg"
import type { Projection } from "../../../projections/projection.ts"
import type { EventStore, Position, Subscription } from "../../eventstore/port.ts"
import { START, comparePositions } from "../../eventstore/port.ts"
import type { LanePorts } from "./lane.ts"
import { Lane } from "./lane.ts"
import type { Projector } from "./port.ts"
import { rebuildBeside, verifyBeside } from "./beside.ts"
import { LIVE_SCHEMA, createTables, dropTables, inTransaction, storedPosition } from "./tables.ts"

const LANE_ROOM = 5_000

/**
 * A read model holds more than the store: what it shows never happened here. The message says what
 * to do.
 */
export class ReadModelAhead extends Error {
  override readonly name = "ReadModelAhead"
}

/** A running projector. */
export interface RunningProjector extends Projector {
  /** Settles when the reader ended by a fault that is not the store's. */
  readonly ended: Promise<void>
  readonly close: () => Promise<void>
}

/**
 * Makes the tables that are missing, builds anew those of another version, and begins to read.
 *
 * @param projections read models whose tables are folds
 * @param hints what is only written from here on: never dropped or built anew
 * @throws ReadModelAhead when one stands beyond the newest event of the store
 * @throws Unavailable, AccessDenied when the store cannot say which that is
 * @throws RangeError from `rebuild` and `verify` for a name that is no read model
 */
export async function startProjector(
  ports: LanePorts,
  projections: readonly Projection[],
  hints: readonly Projection[],
): Promise<RunningProjector> {
  const lanes = new Map<string, Lane>()
  const head = await ports.store.head()
  for (const projection of [...projections, ...hints]) {
    const position = await prepare(ports.pool, projection, hints.includes(projection))
    if (comparePositions(position, head) > 0) throw ahead(projection.name)
    lanes.set(projection.name, new Lane(ports, projection, position, null))
  }
  const subscription = follow(ports.store, [...lanes.values()])
  const find = (name: string): Lane => {
    const lane = lanes.get(name)
    if (lane !== undefined && !hints.includes(lane.projection)) return lane
    const names = projections.map((projection) => projection.name).join(", ")
    throw new RangeError(`There is no read model ${name}; there are ${names}.`)
  }
  return {
    ended: subscription.ended,
    rebuildable: projections.map((projection) => projection.name),
    waitFor: async (position, timeoutMs, names) => {
      const waits = [...lanes.values()]
        .filter((lane) => names === undefined || names.includes(lane.projection.name))
        .map((lane) => lane.waitFor(position))
      const timer = setTimeout(() => waits.forEach((wait) => wait.cancel()), timeoutMs)
      const reached = await Promise.all(waits.map((wait) => wait.done))
      clearTimeout(timer)
      return reached.every(Boolean)
    },
    status: () =>
      [...lanes.values()].map(({ projection, position, behind, fault }) => ({
        name: projection.name,
        version: projection.version,
        state: fault === null ? "running" : "stopped",
        position,
        behind,
        fault,
      })),
    rebuild: async (name, progress) => {
      const lane = find(name)
      await lane.alone(() => rebuildBeside(ports, lane, progress))
    },
    verify: async (name, progress) => {
      const lane = find(name)
      return lane.alone(() => verifyBeside(ports, lane, progress))
    },
    close: async () => {
      await subscription.stop()
      for (const lane of lanes.values()) await lane.close()
    },
  }
}

function ahead(name: string): ReadModelAhead {
  return new ReadModelAhead(
    `The read model ${name} has seen events that this event store does not hold: the store was ` +
      "restored from an older backup, or is another one. Restore both from one backup, or give up " +
      'what is missing: "delete from ledger.projections" in the database makes all of them anew.',
  )
}

function follow(store: EventStore, lanes: readonly Lane[]): Subscription {
  const after = lanes
    .map((lane) => lane.position)
    .reduce((least, one) => (comparePositions(one, least) < 0 ? one : least))
  return store.subscribeAll(
    { after },
    {
      onEvents: async (events) => {
        for (const lane of lanes) lane.deliver(events)
        for (const lane of lanes) await lane.drained(LANE_ROOM)
      },
      onCaughtUp: (head) => {
        for (const lane of lanes) lane.reached(head)
      },
    },
  )
}

/** Makes sure of a read model's tables; answers the place it stands at. */
async function prepare(pool: Pool, projection: Projection, isHint: boolean): Promise<Position> {
  const { name, version, tables } = projection
  const { rows } = await pool.query<{ version: number }>(
    "select version from ledger.projections where name = $1",
    [name],
  )
  const row = rows[0]
  if (row !== undefined && (row.version === version || isHint)) return storedPosition(pool, name)
  await inTransaction(pool, async (client) => {
    if (!isHint) {
      await dropTables(client, tables)
      await createTables(client, projection, LIVE_SCHEMA)
    }
    await client.query(
      `insert into ledger.projections (name, version, commit_position, prepare_position)
       values ($1, $2, $3, $4)
       on conflict (name) do update set version = $2, commit_position = $3, prepare_position = $4,
         fault = null`,
      [name, version, START.commit, START.prepare],
    )
  })
  return START
}
