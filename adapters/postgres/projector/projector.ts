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
import { createTables, dropTables, inTransaction, LIVE_SCHEMA } from "./tables.ts"

const LANE_ROOM = 5_000

/** A running projector. */
export interface RunningProjector extends Projector {
  /** Settles when the reader ended by a fault that is not the store's. */
  readonly ended: Promise<void>
  readonly close: () => Promise<void>
}

interface Row {
  readonly name: string
  readonly version: number
  readonly commit_position: string
  readonly prepare_position: string
}

/**
 * Makes the tables that are missing, builds anew those of another version, and begins to read.
 *
 * @param restorable read models whose tables are folds; `hints` are never dropped or rebuilt
 */
export async function startProjector(
  ports: LanePorts & { readonly store: EventStore },
  projections: readonly Projection[],
  hints: readonly Projection[],
): Promise<RunningProjector> {
  const lanes = new Map<string, Lane>()
  for (const projection of [...projections, ...hints]) {
    const position = await prepare(ports.pool, projection, hints.includes(projection))
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
    rebuild: (name, progress) => rebuildBeside(ports, find(name), progress),
    verify: (name, progress) => verifyBeside(ports, find(name), progress),
    close: async () => {
      await subscription.stop()
      for (const lane of lanes.values()) await lane.close()
    },
  }
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
  const { rows } = await pool.query<Row>("select * from ledger.projections where name = $1", [name])
  const row = rows[0]
  if (row !== undefined && (row.version === version || isHint)) {
    return { commit: BigInt(row.commit_position), prepare: BigInt(row.prepare_position) }
  }
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
