/**
 * Keeps all read models up: one reader of all streams feeds an updater for each, so a slow or stopped
 * one holds up no other for longer than its updater has room. Each read model is kept up by the one
 * process of the installation that has the lease; in the others its updater stands by.
 */
import type { Transaction } from "kysely"
import type { Pool } from "pg"
import type { Projection, Recorded } from "../../../projections/kernel/projection.ts"
import type { EventStore, Position, StoredEvent } from "../../eventstore/port.ts"
import { START, comparePositions } from "../../eventstore/port.ts"
import type { AskedLeases, Leases } from "../leases/port.ts"
import { patiently, kyselyOn } from "../database.ts"
import { refuseAhead, openJoint } from "./joint.ts"
import type { Shadow } from "./shadow.ts"
import { openShadow } from "./shadow.ts"
import {
  factsOf,
  reads,
  inTransaction,
  remakeTables,
  storePosition,
  storedRow,
  storedRows,
} from "./tables.ts"
import { Follower } from "./following.ts"
import type { UpdaterPorts } from "./updater.ts"
import { Updater, BEAT_MS, Beat } from "./updater.ts"
import type { ProjectionStatus, Projector } from "./port.ts"
import { FoldFault } from "./port.ts"
import type { Reader } from "./reader.ts"
import { startReader } from "./reader.ts"

/** What reading an event came to. */
type Reading = { readonly recorded: Recorded } | { readonly fault: unknown }

/** Reads each stored event once for all read models. */
class Readings {
  readonly #decode: (stored: StoredEvent) => Recorded
  readonly #readings = new WeakMap<StoredEvent, Reading>()

  constructor(decode: (stored: StoredEvent) => Recorded) {
    this.#decode = decode
  }

  /** Reads an event before anybody needs it. What is wrong with it is told to whoever does. */
  readAhead(stored: StoredEvent): Reading {
    const known = this.#readings.get(stored)
    if (known !== undefined) return known
    const reading = this.#read(stored)
    this.#readings.set(stored, reading)
    return reading
  }

  /** An event as read models take it. @throws what reading it throws, each time */
  of(stored: StoredEvent): Recorded {
    const reading = this.readAhead(stored)
    if ("fault" in reading) throw reading.fault
    return reading.recorded
  }

  #read(stored: StoredEvent): Reading {
    try {
      return { recorded: this.#decode(stored) }
    } catch (fault) {
      return { fault }
    }
  }
}

const UPDATER_ROOM = 5_000
/** The lock under which a process that starts makes the tables that are missing. */
const PREPARING = "select pg_advisory_xact_lock(hashtextextended('prepare read models', 7004))"

/** What a projector works with. */
export interface ProjectorPorts extends Omit<UpdaterPorts, "beat" | "joint"> {
  readonly leases: Leases
  /** What read models are compared with a rebuild from. */
  readonly comparedStore: Pick<EventStore, "readAll">
  /** Told of all events that are read, before any read model is. */
  readonly onHeard: (events: readonly StoredEvent[]) => void
  /**
   * Told of each page how many events a read model of another version was built anew from; what it
   * throws breaks the building, and the start, off.
   */
  readonly onRenewing: (name: string, events: number) => void
}

/** A running projector. */
export interface RunningProjector extends Projector, Pick<Reader, "handedOver"> {
  /** Settles when the reader ended by a fault that is not the store's. */
  readonly ended: Promise<void>
  /** Lets its leases go: others take them up where it stopped. */
  readonly close: () => Promise<void>
}

/**
 * Makes the tables that are missing, builds those of another version anew beside the live ones (which
 * other processes go on to show meanwhile), asks for the leases to keep them up and begins to read.
 *
 * @param projections read models whose tables are folds
 * @param hints what is only written from here on: never dropped or built anew
 * @throws ReadModelAhead when one stands beyond the newest event of the store
 * @throws Unavailable, AccessDenied when the store cannot say which that is
 * @throws RangeError from `rebuild` and `verify` for a name that is no read model
 */
export async function startProjector(
  given: ProjectorPorts,
  projections: readonly Projection[],
  hints: readonly Projection[],
): Promise<RunningProjector> {
  const readings = new Readings(given.decode)
  const ports = { ...given, decode: (stored: StoredEvent) => readings.of(stored) }
  const together = { ...ports, joint: openJoint(ports.pool), beat: new Beat(ports.pacer, BEAT_MS) }
  // What has a pace of its own waits for nobody else's rows: what is to be done next may follow from it.
  const apart = (gathersMs: number) => ({ ...ports, beat: new Beat(ports.pacer, gathersMs) })
  const shadow = openShadow({ ...ports, pool: patiently(ports.pool) })
  await makeMissing(ports.pool, projections, hints)
  const former = await storedRows(ports.pool)
  const changed = projections.filter(({ name, version }) =>
    former.some((row) => row.name === name && row.version !== version),
  )
  for (const projection of changed) await renew(ports, shadow, projection)
  const rows = new Map((await storedRows(ports.pool)).map((row) => [row.name, row]))
  // Asked for after the positions: others write on meanwhile.
  const head = await ports.store.head()
  const updaters = new Map<string, Updater>()
  for (const projection of [...projections, ...hints]) {
    const { name, gathersMs } = projection
    const position = rows.get(name)?.position ?? START
    refuseAhead(name, position, head)
    const paced = gathersMs === undefined ? together : apart(gathersMs)
    updaters.set(name, new Updater(paced, projection, position))
  }
  const all = [...updaters.values()]
  const reader = feed(ports, readings, all)
  const follower = new Follower(ports, all)
  const leases = new Map(all.map((updater) => [leaseOf(updater.projection), updater]))
  const asked = await ports.leases.ask([...leases.keys()], (lease, isHeld) => {
    const updater = leases.get(lease)
    if (isHeld) updater?.takeUp()
    else updater?.putDown()
  })
  return {
    ended: reader.ended,
    handedOver: reader.handedOver,
    hasRead: async (name) => {
      // What is written here was read here.
      if (updaters.get(name)?.isSure === true) return true
      return reader.handedOver((await storedRow(ports.pool, name)).position)
    },
    rebuildable: projections.map((projection) => projection.name),
    readersOf: (stream) =>
      projections.filter((one) => reads(one, stream)).map((projection) => projection.name),
    followUp: (events) => followUp(ports, hints, events),
    waitFor: (position, timeoutMs, names) =>
      waitFor(
        all.filter(({ projection }) => names?.includes(projection.name) ?? true),
        { reader, follower },
        position,
        timeoutMs,
      ),
    status: () => statusOf(ports.pool, all),
    ...besides(shadow, projections, updaters),
    close: () => close(reader, follower, all, asked),
  }
}

/** Each version has a lease of its own: a process of the former one does not hold up the new one's. */
function leaseOf({ name, version }: Projection): string {
  return `read model ${name} version ${version}`
}

function feed(
  { store, onHeard }: ProjectorPorts,
  readings: Readings,
  updaters: readonly Updater[],
): Reader {
  const after = updaters
    .map((updater) => updater.position)
    .reduce((least, one) => (comparePositions(one, least) < 0 ? one : least))
  return startReader(store, after, {
    onEvents: async (events) => {
      onHeard(events)
      // Now, while the database writes what came before; nothing that is written elsewhere.
      const here = updaters.filter((updater) => updater.isHere)
      const wanted = new Set(here.flatMap(({ projection }) => projection.categories))
      for (const fact of factsOf({ categories: [...wanted] }, events)) readings.readAhead(fact)
      for (const updater of updaters) updater.deliver(events)
      for (const updater of updaters) await updater.drained(UPDATER_ROOM)
    },
    onCaughtUp: (head) => {
      for (const updater of updaters) updater.reached(head)
    },
  })
}

/** Waits for the rows, and for the reader: what is looked at in memory is to be as new as they are. */
async function waitFor(
  updaters: readonly Updater[],
  { reader, follower }: { readonly reader: Reader; readonly follower: Follower },
  position: Position,
  timeoutMs: number,
): Promise<boolean> {
  if (updaters.some((updater) => updater.isHere && updater.fault !== null)) return false
  const behind = updaters.filter((updater) => !updater.has(position))
  if (behind.length === 0 && reader.has(position)) return true
  const waits = behind.map((updater) => updater.waiters.add(position))
  if (!reader.has(position)) waits.push(reader.waitFor(position))
  if (behind.some((updater) => !updater.isHere)) follower.hurry()
  const timer = setTimeout(() => waits.forEach((wait) => wait.cancel()), timeoutMs)
  const reached = await Promise.all(waits.map((wait) => wait.done))
  clearTimeout(timer)
  return reached.every(Boolean)
}

const NOT_HERE = { facts: null, ms: null }

/** How all of them stand: those kept up here by what is known here, the others by the table. */
async function statusOf(
  pool: Pool,
  updaters: readonly Updater[],
): Promise<readonly ProjectionStatus[]> {
  const rows = new Map((await storedRows(pool)).map((row) => [row.name, row]))
  return updaters.map((updater) => {
    const row = rows.get(updater.projection.name)
    if (!updater.isHere && row !== undefined) updater.follow(row)
    const { projection, position, fault, isHere: here } = updater
    const { facts: behind, ms: behindMs } = here ? updater.behind : NOT_HERE
    const { name, version } = projection
    const state = fault === null ? "running" : "stopped"
    return { name, version, state, here, position, behind, behindMs, fault }
  })
}

/** Writes what follows from events behind the positions of the hints: their rows may come twice. */
async function followUp(
  { pool, decode, opener }: Pick<ProjectorPorts, "pool" | "decode" | "opener">,
  hints: readonly Projection[],
  events: readonly StoredEvent[],
): Promise<void> {
  for (const hint of hints) {
    const facts = factsOf(hint, events).map((stored) => decode(stored))
    await inTransaction(pool, (client) =>
      hint.apply(kyselyOn(client) as Transaction<unknown>, facts, opener),
    )
  }
}

function besides(
  shadow: Shadow,
  projections: readonly Projection[],
  updaters: ReadonlyMap<string, Updater>,
): Pick<Projector, "rebuild" | "verify"> {
  const find = (name: string): Projection => {
    const projection = projections.find((one) => one.name === name)
    if (projection !== undefined) return projection
    const names = projections.map((one) => one.name).join(", ")
    throw new RangeError(`There is no read model ${name}; there are ${names}.`)
  }
  return {
    rebuild: async (name, progress) => {
      await shadow.rebuild(find(name), progress)
      updaters.get(name)?.lookAgain()
    },
    verify: async (names, comparison) => shadow.verify(names.map(find), comparison),
  }
}

async function close(
  reader: Reader,
  follower: Follower,
  updaters: readonly Updater[],
  asked: AskedLeases,
): Promise<void> {
  for (const updater of updaters) updater.leave()
  await reader.stop()
  await follower.stop()
  for (const updater of updaters) await updater.close()
  await asked.giveUp()
}

/** Makes the tables that are missing, one process after the other; hints go on as they are. */
export async function makeMissing(
  pool: Pool,
  projections: readonly Projection[],
  hints: readonly Projection[],
): Promise<void> {
  await inTransaction(pool, async (client) => {
    await client.query(PREPARING)
    const names = new Set((await storedRows(client)).map(({ name }) => name))
    const isMissing = ({ name }: Projection) => !names.has(name)
    for (const projection of [...projections, ...hints].filter(isMissing)) {
      await client.query(
        `insert into ledger.projections (name, version, commit_position, prepare_position)
         values ($1, $2, $3, $4)`,
        [projection.name, projection.version, START.commit, START.prepare],
      )
    }
    for (const { name, version } of hints) {
      await client.query("update ledger.projections set version = $2 where name = $1", [
        name,
        version,
      ])
    }
    for (const projection of projections.filter(isMissing)) {
      await remakeTables(client, projection)
    }
  })
}

/** Builds a read model of another version anew. One that meets a fact it cannot take shows all before it. */
async function renew(
  { pool, warn, onRenewing }: ProjectorPorts,
  shadow: Shadow,
  projection: Projection,
): Promise<void> {
  const { name } = projection
  try {
    await shadow.renew(projection, (events) => onRenewing(name, events))
  } catch (error) {
    if (!(error instanceof FoldFault)) throw error
    warn(`read model ${name} cannot be built anew to its end`, error)
    await inTransaction(pool, async (client) => {
      // Whoever writes it has this row first, and then its tables.
      await storePosition(client, projection, START)
      await remakeTables(client, projection)
    })
  }
}
