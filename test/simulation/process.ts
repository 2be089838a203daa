/** A process: the core composed as in the program, on the ports of a simulated world. */
import type {
  IdempotencyStore,
  IdempotencyClaimRequest,
} from "../../adapters/postgres/idempotency/port.ts"
import { ClockUnsure } from "../../adapters/machine/clock/port.ts"
import type { EventStore, Position, Subscription } from "../../adapters/eventstore/port.ts"
import { START, comparePositions } from "../../adapters/eventstore/port.ts"
import type { Locks } from "../../adapters/postgres/locks/port.ts"
import type { EventFeed } from "../../adapters/postgres/projector/event-feed.ts"
import { startEventFeed } from "../../adapters/postgres/projector/event-feed.ts"
import { NO_TRACING } from "../../adapters/telemetry/port.ts"
import { ledgerStreamOf } from "../../domain/charging/aggregates.ts"
import type { ChargeId, CompanyId } from "../../domain/kernel/ids.ts"
import { startJobWorkers } from "../../src/frame/effects/job-workers.ts"
import { causedBy } from "../../src/frame/kernel/envelope.ts"
import type { Ports } from "../../src/frame/ports.ts"
import { openBatcher } from "../../src/frame/writer/batcher.ts"
import type { Runner } from "../../src/frame/writer/runner.ts"
import { openRunner } from "../../src/frame/writer/runner.ts"
import { startReadConfirmation } from "../../src/frame/writer/runner/freshness.ts"
import { PROGRAM } from "../../src/slices.ts"
import type { SimulatedWorld } from "./world.ts"
import { carrierFor } from "./world.ts"
import type { SimulatedDatabase, ReadModelName } from "./database.ts"
import { READ_MODEL_NAMES, newestChargeIn, jobQueueOf } from "./database.ts"
import type { TaskOwner } from "./schedule.ts"
import { plainSealing } from "./plain-sealing.ts"
import { isChargesQuery, kyselyWith } from "./sql.ts"
import { simulatedStoreOf } from "./store.ts"
import type { SimulatedNetwork } from "./wire.ts"
import { callRemote, callDatabase } from "./wire.ts"
import { partialFake } from "../support/partial-fake.ts"

const RETRY_EVERY_MS = 300

interface FollowerPorts {
  readonly wire: SimulatedNetwork
  readonly owner: TaskOwner
  readonly store: EventStore
  readonly database: SimulatedDatabase
  /** Called after each write to a read model. */
  readonly onApplied: (model: ReadModelName) => void
}

/** The stored position differs from the expected one: another process also writes. */
class PositionChanged extends Error {
  override readonly name = "PositionChanged"
}

/** Updates a read model whenever this process has its lease. */
async function followWhileLeased(
  ports: FollowerPorts,
  model: ReadModelName,
  stopping: AbortSignal,
): Promise<void> {
  const { wire, owner, database } = ports
  const lease = `lease ${model}`
  while (!stopping.aborted) {
    try {
      const hasLease = await callDatabase(wire, owner, () => {
        return database.hasLock(lease, owner) || database.acquireLock(lease, owner)
      })
      if (hasLease) await follow(ports, model, stopping)
    } catch (error) {
      // The write's outcome is unknown, so the next round reads the position first.
      if (!(error instanceof PositionChanged || isBroken(error))) throw error
    }
    await wire.schedule.pause(owner, RETRY_EVERY_MS, stopping)
  }
  await callRemote(wire, owner, () => database.releaseLock(lease, owner))
}

function isBroken(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ECONNRESET"
}

/** Follows the store from the stored position. @throws PositionChanged, and connection errors */
async function follow(
  ports: FollowerPorts,
  model: ReadModelName,
  stopping: AbortSignal,
): Promise<void> {
  const { wire, owner, store, database, onApplied } = ports
  let known: Position = await callDatabase(wire, owner, () => database.positionOf(model))
  if (stopping.aborted) return
  const failed = Promise.withResolvers<never>()
  const change = async (write: () => boolean | Promise<boolean>): Promise<void> => {
    try {
      const written = await callDatabase(wire, owner, async () => {
        const isMine = await write()
        return isMine ? database.positionOf(model) : null
      })
      if (written === null) throw new PositionChanged(`another process updates ${model}`)
      known = written
    } catch (error) {
      failed.reject(error)
      // This subscription must handle nothing more; a new one starts from the stored position.
      await new Promise(() => undefined)
    }
  }
  const subscription: Subscription = store.subscribeAll(
    { after: known },
    {
      onEvents: async (events) => {
        await change(() => database.write(model, known, events))
        onApplied(model)
      },
      onCaughtUp: (head) => change(() => database.advancePosition(model, known, head)),
    },
  )
  const stopped = new Promise<void>((resolve) => {
    stopping.addEventListener("abort", () => resolve())
  })
  try {
    await Promise.race([failed.promise, stopped, subscription.ended])
  } finally {
    void subscription.stop()
  }
}

const POLL_MS = 500
const WAIT_STEP_MS = 20
const LOCK_STEP_MS = 10
const MAX_CLOSINGS = 500

export interface SimulatedProcess extends TaskOwner {
  isAlive: boolean
  /** The schedule's time until which the process cannot read the ledger's time. */
  clockUnsureUntil: number
  readonly ports: Ports
  /** Idempotency claims of the process, which its successors may take over. */
  readonly heldClaims: Set<IdempotencyClaimRequest>
  /** Called when the process crashes or stops. */
  readonly onDeath: Set<() => void>
  /** Requests in progress. */
  readonly requests: Set<Promise<unknown>>
  /** Shuts the process down. */
  readonly close: () => Promise<void>
}

export interface ProcessSetup {
  readonly name: string
  /** The difference of its clock from the ledger's time, in milliseconds. */
  readonly skewMs: number
  /** The size of its state cache; a small cache evicts states all the time. */
  readonly mostBytes: number
  /** The default deadline of its callers. */
  readonly deadlineMs: number
}

/** Starts a process. */
export function startSimulatedProcess(
  world: SimulatedWorld,
  setup: ProcessSetup,
): SimulatedProcess {
  const { database, records } = world
  const owner: Omit<SimulatedProcess, "ports" | "close"> = {
    name: setup.name,
    isAlive: true,
    clockUnsureUntil: 0,
    heldClaims: new Set(),
    onDeath: new Set(),
    requests: new Set(),
  }
  const base = basePorts(world, owner, setup)
  const { runner, store, pacer } = base
  const stopping = new AbortController()
  const warn = base.log.warn
  const reader = startEventFeed(store, START, {
    onEvents: async (events) => runner.noteAppended(events),
    onCaughtUp: () => undefined,
  })
  reader.ended.catch((error: unknown) => warn("the event feed ended", error))
  const { waitUntilDelivered } = reader
  const confirming = startReadConfirmation({
    store,
    pacer,
    runner,
    waitUntilRead: waitUntilDelivered,
    warn,
  })
  const closings = closingsOf(runner)
  const ports = partialFake<Ports>({
    ...base,
    streams: PROGRAM.streams,
    settleCharge: closings.add,
    tracing: NO_TRACING,
    projector: projectorOf(world, owner, reader),
  })
  const workers = startJobWorkers(ports, PROGRAM.reactions)
  const onApplied = (model: ReadModelName) => {
    if (model === "jobs") workers.wake()
  }
  const followers = READ_MODEL_NAMES.map((model) => {
    return followWhileLeased(
      { wire: world, owner, store, database, onApplied },
      model,
      stopping.signal,
    )
  })
  const polling = poll(pacer, stopping.signal, workers.wake)
  return Object.assign(owner, {
    ports,
    close: async () => {
      await Promise.allSettled(owner.requests)
      await workers.stop()
      await closings.waitUntilIdle()
      await runner.close()
      await confirming.stop()
      stopping.abort()
      await Promise.all([...followers, polling])
      await reader.stop()
      records.stoppedProcesses.add(owner.name)
    },
  })
}

/** The ports that depend only on the world. */
function basePorts(
  world: SimulatedWorld,
  owner: TaskOwner & Pick<SimulatedProcess, "clockUnsureUntil" | "heldClaims">,
  setup: ProcessSetup,
) {
  const { schedule, database, records, chance } = world
  const pacer = schedule.pacerOf(owner)
  const store = simulatedStoreOf(world, owner)
  const clock = {
    now: () => {
      if (schedule.now < owner.clockUnsureUntil)
        throw new ClockUnsure("fault: the time is not known")
      return Math.round(world.time + setup.skewMs)
    },
  }
  const warn = (message: string, error: unknown): void => {
    records.warnings.push({ process: owner.name, message, error })
  }
  const { checkpoints } = database
  const runner = openRunner({
    store,
    checkpoints: {
      load: (stream) => {
        if (chance.happens(world.faults.databaseFailures)) return Promise.resolve(null)
        return callDatabase(faultlessWire(world), owner, () => checkpoints.load(stream))
      },
      save: (stream, checkpoint) => {
        return callDatabase(world, owner, () => checkpoints.save(stream, checkpoint))
      },
    },
    locks: locksOf(world, owner),
    clock,
    pacer,
    warn,
    maxBytes: setup.mostBytes,
    deadlineMs: setup.deadlineMs,
    newUuid: () => chance.uuid(),
  })
  return {
    runner: records.recordingRunner(owner, runner),
    store,
    clock,
    pacer,
    sealing: plainSealing,
    idempotency: claimsOf(world, owner),
    carrier: carrierFor(world.carrier, world, owner),
    jobs: jobQueueOf(database.jobs, owner, (effect) => callDatabase(world, owner, effect)),
    readAll: kyselyWith(async (query) => {
      if (!isChargesQuery(query)) {
        throw new Error(`unexpected query: ${query.sql}`)
      }
      const [companyId, chargeId] = query.parameters as [CompanyId, ChargeId]
      return callDatabase(world, owner, () => {
        const row = newestChargeIn(database.rows.charges, companyId, chargeId)
        return row === null ? [] : [row]
      })
    }),
    storeRefusal: () => undefined,
    baseUrl: () => "http://ledger.test",
    log: { info: () => undefined, warn },
  }
}

/** A connection to the database that never breaks, for calls that the program retries. */
function faultlessWire(world: SimulatedWorld): SimulatedNetwork {
  const { chance, schedule, faults } = world
  const count = (what: string) => world.count(what)
  return { chance, schedule, count, faults: { ...faults, databaseFailures: 0 } }
}

async function poll(pacer: Ports["pacer"], stopping: AbortSignal, wake: () => void): Promise<void> {
  while (!stopping.aborted) {
    await pacer.pause(POLL_MS, stopping)
    wake()
  }
}

/** Settlements are batched, as in the program. */
function closingsOf(runner: Runner) {
  return openBatcher<CompanyId, ChargeId>(MAX_CLOSINGS, async (companyId, chargeIds) => {
    const command = { type: "SettleCharges" as const, chargeIds }
    await runner.execute(ledgerStreamOf(companyId), command, causedBy("close-charges"))
  })
}

/** Waits for read models by the positions stored with their rows. */
function projectorOf(
  world: SimulatedWorld,
  owner: TaskOwner,
  reader: EventFeed,
): Pick<Ports["projector"], "waitUntilWritten" | "waitUntilRead"> {
  const { database, schedule } = world
  return {
    waitUntilWritten: async (position, timeoutMs, names = READ_MODEL_NAMES) => {
      const until = schedule.now + timeoutMs
      for (;;) {
        const isWritten = await callDatabase(world, owner, () => {
          return (names as readonly ReadModelName[]).every((name) => {
            return comparePositions(database.positionOf(name), position) >= 0
          })
        })
        if (isWritten && reader.hasDelivered(position)) return true
        if (schedule.now >= until) return false
        await schedule.pause(owner, WAIT_STEP_MS)
      }
    },
    waitUntilRead: async (name) => {
      const position = await callDatabase(world, owner, () =>
        database.positionOf(name as ReadModelName),
      )
      return reader.waitUntilDelivered(position)
    },
  }
}

/** Database locks: a free lock may be refused, and a held one may be lost. */
function locksOf(world: SimulatedWorld, owner: TaskOwner): Locks {
  const { database, schedule, chance } = world
  return {
    acquire: async (name, timeoutMs) => {
      if (chance.happens(world.faults.lockRefused)) {
        world.count("lock refused")
        return null
      }
      const until = schedule.now + timeoutMs
      for (;;) {
        const isMine = await callDatabase(faultlessWire(world), owner, () =>
          database.acquireLock(name, owner),
        )
        world.count(isMine ? "lock taken" : "lock waited for")
        if (isMine) {
          return () =>
            callDatabase(faultlessWire(world), owner, () => database.releaseLock(name, owner))
        }
        if (schedule.now >= until) {
          world.count("lock given up")
          return null
        }
        await schedule.pause(owner, LOCK_STEP_MS)
      }
    },
  }
}

/** Idempotency claims that end with their process. */
function claimsOf(
  world: SimulatedWorld,
  owner: TaskOwner & Pick<SimulatedProcess, "heldClaims">,
): IdempotencyStore {
  const { idempotency } = world.database
  const change = async <T>(
    request: IdempotencyClaimRequest,
    ends: boolean,
    effect: () => Promise<T>,
  ) => {
    try {
      return await callDatabase(world, owner, async () => {
        // A crashed process has no claims; another process may have taken them over.
        const isMine = owner.isAlive && owner.heldClaims.has(request)
        if (ends) owner.heldClaims.delete(request)
        return isMine ? await effect() : (undefined as T)
      })
    } catch (error) {
      // If the process could not report the end of a claim, the claim is treated as abandoned.
      if (ends && owner.heldClaims.delete(request)) await idempotency.abandon(request)
      throw error
    }
  }
  return {
    claim: (request) =>
      callDatabase(faultlessWire(world), owner, async () => {
        const claim = await idempotency.claim(request)
        // A claim that arrives after the process has crashed is abandoned from the start.
        if (claim.state === "claimed" && !owner.isAlive) await idempotency.abandon(request)
        if (claim.state === "claimed") owner.heldClaims.add(request)
        return claim
      }),
    finish: (request, answer) => change(request, true, () => idempotency.finish(request, answer)),
    release: (request) => change(request, true, () => idempotency.release(request)),
    abandon: (request) => change(request, true, () => idempotency.abandon(request)),
    nextAttempt: (request) => change(request, false, () => idempotency.nextAttempt(request)),
    forgetBefore: async () => 0,
  }
}
