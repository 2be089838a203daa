/**
 * Keeps all read models up: one reader of all streams feeds an updater for each, so a slow or stopped
 * one holds up no other for longer than its updater has room. Each read model is kept up by the one
 * process of the installation that has the lease; in the others its updater stands by.
 */
import type { Transaction } from "kysely"
import type { Pool } from "pg"
import type { Projection, ProjectedFact } from "../../../projections/kernel/projection.ts"
import type { EventStore, Position, StoredEvent } from "../../eventstore/port.ts"
import { START, comparePositions } from "../../eventstore/port.ts"
import type { LeaseRequest, Leases } from "../leases/port.ts"
import { withoutTimeouts, kyselyOnConnection } from "../database.ts"
import { requireNotAhead, openJointWriter } from "./joint-writer.ts"
import type { ShadowRebuilds } from "./shadow.ts"
import { openShadowRebuilds } from "./shadow.ts"
import {
  factsOf,
  readsStream,
  inTransaction,
  recreateTables,
  storePosition,
  readStoredProjection,
  readStoredProjections,
} from "./tables.ts"
import { PositionPoller } from "./position-poller.ts"
import type { UpdaterPorts } from "./updater.ts"
import { ReadModelUpdater, BATCH_INTERVAL_MS, BatchTicker } from "./updater.ts"
import type { ProjectionStatus, Projector } from "./port.ts"
import { FoldFault } from "./port.ts"
import type { EventFeed } from "./event-feed.ts"
import { startEventFeed } from "./event-feed.ts"

/** What reading an event came to. */
type DecodeResult = { readonly recorded: ProjectedFact } | { readonly fault: unknown }

/** Reads each stored event once for all read models. */
class DecodedEvents {
  readonly #decode: (stored: StoredEvent) => ProjectedFact
  readonly #results = new WeakMap<StoredEvent, DecodeResult>()

  constructor(decode: (stored: StoredEvent) => ProjectedFact) {
    this.#decode = decode
  }

  /** Reads an event before anybody needs it. What is wrong with it is told to whoever does. */
  decodeAhead(stored: StoredEvent): DecodeResult {
    const known = this.#results.get(stored)
    if (known !== undefined) return known
    const reading = this.#decodeOne(stored)
    this.#results.set(stored, reading)
    return reading
  }

  /** An event as read models take it. @throws what reading it throws, each time */
  of(stored: StoredEvent): ProjectedFact {
    const reading = this.decodeAhead(stored)
    if ("fault" in reading) throw reading.fault
    return reading.recorded
  }

  #decodeOne(stored: StoredEvent): DecodeResult {
    try {
      return { recorded: this.#decode(stored) }
    } catch (fault) {
      return { fault }
    }
  }
}

const MAX_PENDING_FACTS = 5_000
/** The lock under which a process that starts makes the tables that are missing. */
const LOCK_PREPARATION =
  "select pg_advisory_xact_lock(hashtextextended('prepare read models', 7004))"

/** What a projector works with. */
export interface ProjectorPorts extends Omit<UpdaterPorts, "batchTicker" | "jointWriter"> {
  readonly leases: Leases
  /** What read models are compared with a rebuild from. */
  readonly comparisonStore: Pick<EventStore, "readAll">
  /** Told of all events that are read, before any read model is. */
  readonly onEventsRead: (events: readonly StoredEvent[]) => void
  /**
   * Told of each page how many events a read model of another version was built anew from; what it
   * throws breaks the building, and the start, off.
   */
  readonly onRebuildProgress: (name: string, events: number) => void
}

/** A running projector. */
export interface RunningProjector extends Projector, Pick<EventFeed, "waitUntilDelivered"> {
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
  const readings = new DecodedEvents(given.decode)
  const ports = { ...given, decode: (stored: StoredEvent) => readings.of(stored) }
  const together = {
    ...ports,
    jointWriter: openJointWriter(ports.pool),
    batchTicker: new BatchTicker(ports.pacer, BATCH_INTERVAL_MS),
  }
  // What has a pace of its own waits for nobody else's rows: what is to be done next may follow from it.
  const apart = (gathersMs: number) => ({
    ...ports,
    batchTicker: new BatchTicker(ports.pacer, gathersMs),
  })
  const shadow = openShadowRebuilds({ ...ports, pool: withoutTimeouts(ports.pool) })
  await createMissingTables(ports.pool, projections, hints)
  const former = await readStoredProjections(ports.pool)
  const changed = projections.filter(({ name, version }) =>
    former.some((row) => row.name === name && row.version !== version),
  )
  for (const projection of changed) await rebuildOutdated(ports, shadow, projection)
  const rows = new Map((await readStoredProjections(ports.pool)).map((row) => [row.name, row]))
  // Asked for after the positions: others write on meanwhile.
  const head = await ports.store.head()
  const updaters = new Map<string, ReadModelUpdater>()
  for (const projection of [...projections, ...hints]) {
    const { name, bufferMs } = projection
    const position = rows.get(name)?.position ?? START
    requireNotAhead(name, position, head)
    const paced = bufferMs === undefined ? together : apart(bufferMs)
    updaters.set(name, new ReadModelUpdater(paced, projection, position))
  }
  const all = [...updaters.values()]
  const reader = startFeed(ports, readings, all)
  const follower = new PositionPoller(ports, all)
  const leases = new Map(all.map((updater) => [leaseOf(updater.projection), updater]))
  const asked = await ports.leases.request([...leases.keys()], (lease, isHeld) => {
    const updater = leases.get(lease)
    if (isHeld) updater?.activate()
    else updater?.deactivate()
  })
  return {
    ended: reader.ended,
    waitUntilDelivered: reader.waitUntilDelivered,
    waitUntilRead: async (name) => {
      // What is written here was read here.
      if (updaters.get(name)?.isInSync === true) return true
      return reader.waitUntilDelivered((await readStoredProjection(ports.pool, name)).position)
    },
    rebuildable: projections.map((projection) => projection.name),
    listReadModelsOf: (stream) =>
      projections.filter((one) => readsStream(one, stream)).map((projection) => projection.name),
    enqueueReactions: (events) => enqueueReactions(ports, hints, events),
    waitUntilWritten: (position, timeoutMs, names) =>
      waitUntilWritten(
        all.filter(({ projection }) => names?.includes(projection.name) ?? true),
        { reader, follower },
        position,
        timeoutMs,
      ),
    status: () => statusOf(ports.pool, all),
    ...openRebuilds(shadow, projections, updaters),
    close: () => close(reader, follower, all, asked),
  }
}

/** Each version has a lease of its own: a process of the former one does not hold up the new one's. */
function leaseOf({ name, version }: Projection): string {
  return `read model ${name} version ${version}`
}

function startFeed(
  { store, onEventsRead }: ProjectorPorts,
  readings: DecodedEvents,
  updaters: readonly ReadModelUpdater[],
): EventFeed {
  const after = updaters
    .map((updater) => updater.position)
    .reduce((least, one) => (comparePositions(one, least) < 0 ? one : least))
  return startEventFeed(store, after, {
    onEvents: async (events) => {
      onEventsRead(events)
      // Now, while the database writes what came before; nothing that is written elsewhere.
      const here = updaters.filter((updater) => updater.isActive)
      const wanted = new Set(here.flatMap(({ projection }) => projection.categories))
      for (const fact of factsOf({ categories: [...wanted] }, events)) readings.decodeAhead(fact)
      for (const updater of updaters) updater.deliver(events)
      for (const updater of updaters) await updater.waitForRoom(MAX_PENDING_FACTS)
    },
    onCaughtUp: (head) => {
      for (const updater of updaters) updater.noteCaughtUp(head)
    },
  })
}

/** Waits for the rows, and for the reader: what is looked at in memory is to be as new as they are. */
async function waitUntilWritten(
  updaters: readonly ReadModelUpdater[],
  { reader, follower }: { readonly reader: EventFeed; readonly follower: PositionPoller },
  position: Position,
  timeoutMs: number,
): Promise<boolean> {
  if (updaters.some((updater) => updater.isActive && updater.fault !== null)) return false
  const behind = updaters.filter((updater) => !updater.hasWritten(position))
  if (behind.length === 0 && reader.hasDelivered(position)) return true
  const waits = behind.map((updater) => updater.waiters.add(position))
  if (!reader.hasDelivered(position)) waits.push(reader.addWaiter(position))
  if (behind.some((updater) => !updater.isActive)) follower.pollFast()
  const timer = setTimeout(() => waits.forEach((wait) => wait.cancel()), timeoutMs)
  const reached = await Promise.all(waits.map((wait) => wait.done))
  clearTimeout(timer)
  return reached.every(Boolean)
}

const UNKNOWN_BACKLOG = { facts: null, ms: null }

/** How all of them stand: those kept up here by what is known here, the others by the table. */
async function statusOf(
  pool: Pool,
  updaters: readonly ReadModelUpdater[],
): Promise<readonly ProjectionStatus[]> {
  const rows = new Map((await readStoredProjections(pool)).map((row) => [row.name, row]))
  return updaters.map((updater) => {
    const row = rows.get(updater.projection.name)
    if (!updater.isActive && row !== undefined) updater.noteStored(row)
    const { projection, position, fault, isActive: here } = updater
    const { facts: behind, ms: behindMs } = here ? updater.backlog : UNKNOWN_BACKLOG
    const { name, version } = projection
    const state = fault === null ? "running" : "stopped"
    return { name, version, state, here, position, behind, behindMs, fault }
  })
}

/** Writes what follows from events behind the positions of the hints: their rows may come twice. */
async function enqueueReactions(
  { pool, decode, opener }: Pick<ProjectorPorts, "pool" | "decode" | "opener">,
  hints: readonly Projection[],
  events: readonly StoredEvent[],
): Promise<void> {
  for (const hint of hints) {
    const facts = factsOf(hint, events).map((stored) => decode(stored))
    await inTransaction(pool, (client) =>
      hint.apply(kyselyOnConnection(client) as Transaction<unknown>, facts, opener),
    )
  }
}

function openRebuilds(
  shadow: ShadowRebuilds,
  projections: readonly Projection[],
  updaters: ReadonlyMap<string, ReadModelUpdater>,
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
      updaters.get(name)?.recheck()
    },
    verify: async (names, comparison) => shadow.verify(names.map(find), comparison),
  }
}

async function close(
  reader: EventFeed,
  follower: PositionPoller,
  updaters: readonly ReadModelUpdater[],
  asked: LeaseRequest,
): Promise<void> {
  for (const updater of updaters) updater.beginClose()
  await reader.stop()
  await follower.stop()
  for (const updater of updaters) await updater.close()
  await asked.release()
}

/** Makes the tables that are missing, one process after the other; hints go on as they are. */
export async function createMissingTables(
  pool: Pool,
  projections: readonly Projection[],
  hints: readonly Projection[],
): Promise<void> {
  await inTransaction(pool, async (client) => {
    await client.query(LOCK_PREPARATION)
    const names = new Set((await readStoredProjections(client)).map(({ name }) => name))
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
      await recreateTables(client, projection)
    }
  })
}

/** Builds a read model of another version anew. One that meets a fact it cannot take shows all before it. */
async function rebuildOutdated(
  { pool, warn, onRebuildProgress }: ProjectorPorts,
  shadow: ShadowRebuilds,
  projection: Projection,
): Promise<void> {
  const { name } = projection
  try {
    await shadow.renew(projection, (events) => onRebuildProgress(name, events))
  } catch (error) {
    if (!(error instanceof FoldFault)) throw error
    warn(`read model ${name} cannot be built anew to its end`, error)
    await inTransaction(pool, async (client) => {
      // Whoever writes it has this row first, and then its tables.
      await storePosition(client, projection, START)
      await recreateTables(client, projection)
    })
  }
}
