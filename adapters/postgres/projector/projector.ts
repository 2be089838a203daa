/**
 * Keeps all read models up to date. One reader of all streams feeds an updater per read model, so a
 * slow or stopped one delays the others only when its queue is full. Each read model is written by
 * the one process with its lease; updaters of other processes only track its position.
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

type DecodeResult = { readonly recorded: ProjectedFact } | { readonly fault: unknown }

/** Decodes each stored event once for all read models. */
class DecodedEvents {
  readonly #decode: (stored: StoredEvent) => ProjectedFact
  readonly #results = new WeakMap<StoredEvent, DecodeResult>()

  constructor(decode: (stored: StoredEvent) => ProjectedFact) {
    this.#decode = decode
  }

  decodeAhead(stored: StoredEvent): DecodeResult {
    const known = this.#results.get(stored)
    if (known !== undefined) return known
    const result = this.#decodeOne(stored)
    this.#results.set(stored, result)
    return result
  }

  /** Returns a decoded event. @throws the error of decoding it, each time */
  of(stored: StoredEvent): ProjectedFact {
    const result = this.decodeAhead(stored)
    if ("fault" in result) throw result.fault
    return result.recorded
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
/** Held while a starting process creates missing tables. */
const LOCK_PREPARATION =
  "select pg_advisory_xact_lock(hashtextextended('prepare read models', 7004))"

export interface ProjectorPorts extends Omit<UpdaterPorts, "batchTicker" | "jointWriter"> {
  readonly leases: Leases
  /** The store for comparing read models with a rebuild. */
  readonly comparisonStore: Pick<EventStore, "readAll">
  /** Called with all events before any read model handles them. */
  readonly onEventsRead: (events: readonly StoredEvent[]) => void
  /** Called after each page of a rebuild for a new version; throwing aborts the rebuild and the start. */
  readonly onRebuildProgress: (name: string, events: number) => void
}

export interface RunningProjector extends Projector, Pick<EventFeed, "waitUntilDelivered"> {
  /** Settles if the reader ended with an error that is not the store's. */
  readonly ended: Promise<void>
  /** Releases the leases: other processes continue from the stored positions. */
  readonly close: () => Promise<void>
}

/**
 * Creates missing tables, rebuilds read models of another version in shadows (other processes show
 * the live ones meanwhile), requests the leases and starts reading.
 *
 * @param projections read models that can be rebuilt
 * @param jobProjections projections that only write new rows: never dropped or rebuilt
 * @throws ReadModelAhead if one is after the newest event of the store
 * @throws Unavailable, AccessDenied if the head cannot be read
 * @throws RangeError from `rebuild` and `verify` for an unknown name
 */
export async function startProjector(
  options: ProjectorPorts,
  projections: readonly Projection[],
  jobProjections: readonly Projection[],
): Promise<RunningProjector> {
  const decodedEvents = new DecodedEvents(options.decode)
  const ports = { ...options, decode: (stored: StoredEvent) => decodedEvents.of(stored) }
  const sharedPorts = {
    ...ports,
    jointWriter: openJointWriter(ports.pool),
    batchTicker: new BatchTicker(ports.pacer, BATCH_INTERVAL_MS),
  }
  // A projection with its own interval does not wait for other rows, because urgent jobs may depend on it.
  const portsWithInterval = (intervalMs: number) => ({
    ...ports,
    batchTicker: new BatchTicker(ports.pacer, intervalMs),
  })
  const shadow = openShadowRebuilds({ ...ports, pool: withoutTimeouts(ports.pool) })
  await createMissingTables(ports.pool, projections, jobProjections)
  const storedBefore = await readStoredProjections(ports.pool)
  const changed = projections.filter(({ name, version }) =>
    storedBefore.some((row) => row.name === name && row.version !== version),
  )
  for (const projection of changed) await rebuildOutdated(ports, shadow, projection)
  const rows = new Map((await readStoredProjections(ports.pool)).map((row) => [row.name, row]))
  // Read after the positions, because other processes keep writing.
  const head = await ports.store.head()
  const updaters = new Map<string, ReadModelUpdater>()
  for (const projection of [...projections, ...jobProjections]) {
    const { name, bufferMs } = projection
    const position = rows.get(name)?.position ?? START
    requireNotAhead(name, position, head)
    const updaterPorts = bufferMs === undefined ? sharedPorts : portsWithInterval(bufferMs)
    updaters.set(name, new ReadModelUpdater(updaterPorts, projection, position))
  }
  const all = [...updaters.values()]
  const feed = startFeed(ports, decodedEvents, all)
  const poller = new PositionPoller(ports, all)
  const leases = new Map(all.map((updater) => [leaseOf(updater.projection), updater]))
  const leaseRequest = await ports.leases.request([...leases.keys()], (lease, isHeld) => {
    const updater = leases.get(lease)
    if (isHeld) updater?.activate()
    else updater?.deactivate()
  })
  return {
    ended: feed.ended,
    waitUntilDelivered: feed.waitUntilDelivered,
    waitUntilRead: async (name) => {
      // Rows that this process wrote were read here.
      if (updaters.get(name)?.isInSync === true) return true
      return feed.waitUntilDelivered((await readStoredProjection(ports.pool, name)).position)
    },
    rebuildable: projections.map((projection) => projection.name),
    listReadModelsOf: (stream) =>
      projections
        .filter((projection) => readsStream(projection, stream))
        .map((projection) => projection.name),
    enqueueReactions: (events) => enqueueReactions(ports, jobProjections, events),
    waitUntilWritten: (position, timeoutMs, names) =>
      waitUntilWritten(
        all.filter(({ projection }) => names?.includes(projection.name) ?? true),
        { feed, poller },
        position,
        timeoutMs,
      ),
    status: () => statusOf(ports.pool, all),
    ...openRebuilds(shadow, projections, updaters),
    close: () => close(feed, poller, all, leaseRequest),
  }
}

/** The lease includes the version, so that a process of the previous version does not block the new one. */
function leaseOf({ name, version }: Projection): string {
  return `read model ${name} version ${version}`
}

function startFeed(
  { store, onEventsRead }: ProjectorPorts,
  decodedEvents: DecodedEvents,
  updaters: readonly ReadModelUpdater[],
): EventFeed {
  const after = updaters
    .map((updater) => updater.position)
    .reduce((earliest, position) =>
      comparePositions(position, earliest) < 0 ? position : earliest,
    )
  return startEventFeed(store, after, {
    onEvents: async (events) => {
      onEventsRead(events)
      // Decode now, while the database writes earlier events; skip read models that other processes write.
      const active = updaters.filter((updater) => updater.isActive)
      const wanted = new Set(active.flatMap(({ projection }) => projection.categories))
      for (const fact of factsOf({ categories: [...wanted] }, events))
        decodedEvents.decodeAhead(fact)
      for (const updater of updaters) updater.deliver(events)
      for (const updater of updaters) await updater.waitForRoom(MAX_PENDING_FACTS)
    },
    onCaughtUp: (head) => {
      for (const updater of updaters) updater.noteCaughtUp(head)
    },
  })
}

/** Waits for the rows and the reader, so that state in memory is as new as the rows. */
async function waitUntilWritten(
  updaters: readonly ReadModelUpdater[],
  { feed, poller }: { readonly feed: EventFeed; readonly poller: PositionPoller },
  position: Position,
  timeoutMs: number,
): Promise<boolean> {
  if (updaters.some((updater) => updater.isActive && updater.fault !== null)) return false
  const behind = updaters.filter((updater) => !updater.hasWritten(position))
  if (behind.length === 0 && feed.hasDelivered(position)) return true
  const waits = behind.map((updater) => updater.waiters.add(position))
  if (!feed.hasDelivered(position)) waits.push(feed.addWaiter(position))
  if (behind.some((updater) => !updater.isActive)) poller.pollFast()
  const timer = setTimeout(() => waits.forEach((wait) => wait.cancel()), timeoutMs)
  const reached = await Promise.all(waits.map((wait) => wait.done))
  clearTimeout(timer)
  return reached.every(Boolean)
}

const UNKNOWN_BACKLOG = { facts: null, ms: null }

/** Status of all read models: active ones from memory, the others from the table. */
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

/** Enqueues jobs for events before the positions of the job projections; duplicates are ignored. */
async function enqueueReactions(
  { pool, decode, opener }: Pick<ProjectorPorts, "pool" | "decode" | "opener">,
  jobProjections: readonly Projection[],
  events: readonly StoredEvent[],
): Promise<void> {
  for (const projection of jobProjections) {
    const facts = factsOf(projection, events).map((stored) => decode(stored))
    await inTransaction(pool, (client) =>
      projection.apply(kyselyOnConnection(client) as Transaction<unknown>, facts, opener),
    )
  }
}

function openRebuilds(
  shadow: ShadowRebuilds,
  projections: readonly Projection[],
  updaters: ReadonlyMap<string, ReadModelUpdater>,
): Pick<Projector, "rebuild" | "verify"> {
  const find = (name: string): Projection => {
    const projection = projections.find((candidate) => candidate.name === name)
    if (projection !== undefined) return projection
    const names = projections.map((candidate) => candidate.name).join(", ")
    throw new RangeError(`There is no read model ${name}. Use one of: ${names}.`)
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
  feed: EventFeed,
  poller: PositionPoller,
  updaters: readonly ReadModelUpdater[],
  leaseRequest: LeaseRequest,
): Promise<void> {
  for (const updater of updaters) updater.beginClose()
  await feed.stop()
  await poller.stop()
  for (const updater of updaters) await updater.close()
  await leaseRequest.release()
}

/** Creates missing tables, in one process at a time; job projections are never recreated. */
export async function createMissingTables(
  pool: Pool,
  projections: readonly Projection[],
  jobProjections: readonly Projection[],
): Promise<void> {
  await inTransaction(pool, async (client) => {
    await client.query(LOCK_PREPARATION)
    const names = new Set((await readStoredProjections(client)).map(({ name }) => name))
    const isMissing = ({ name }: Projection) => !names.has(name)
    for (const projection of [...projections, ...jobProjections].filter(isMissing)) {
      await client.query(
        `insert into ledger.projections (name, version, commit_position, prepare_position)
         values ($1, $2, $3, $4)`,
        [projection.name, projection.version, START.commit, START.prepare],
      )
    }
    for (const { name, version } of jobProjections) {
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

/** Rebuilds a read model of another version. If a fact fails, it continues up to that fact. */
async function rebuildOutdated(
  { pool, warn, onRebuildProgress }: ProjectorPorts,
  shadow: ShadowRebuilds,
  projection: Projection,
): Promise<void> {
  const { name } = projection
  try {
    await shadow.rebuildOutdated(projection, (events) => onRebuildProgress(name, events))
  } catch (error) {
    if (!(error instanceof FoldFault)) throw error
    warn(
      `the rebuild of read model ${name} failed; the read model is updated up to the fact that failed`,
      error,
    )
    await inTransaction(pool, async (client) => {
      // Writers lock this row before the tables, so this must use the same order.
      await storePosition(client, projection, START)
      await recreateTables(client, projection)
    })
  }
}
