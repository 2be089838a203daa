/** A process: the core as it is composed in the program, on the ports of a simulated world. */
import type { Claims, ClaimRequest } from "../../adapters/postgres/idempotency/port.ts"
import { ClockUnsure } from "../../adapters/machine/clock/port.ts"
import type { EventStore, Position, Subscription } from "../../adapters/eventstore/port.ts"
import { START, comparePositions } from "../../adapters/eventstore/port.ts"
import type { Locks } from "../../adapters/postgres/locks/port.ts"
import type { Reader } from "../../adapters/postgres/projector/reader.ts"
import { startReader } from "../../adapters/postgres/projector/reader.ts"
import { NO_TRACING } from "../../adapters/telemetry/port.ts"
import { ledgerOf } from "../../domain/charging/aggregates.ts"
import type { ChargeId, CompanyId } from "../../domain/kernel/ids.ts"
import { startWorkers } from "../../src/frame/effects/workers.ts"
import { causedBy } from "../../src/frame/kernel/envelope.ts"
import type { Ports } from "../../src/frame/ports.ts"
import { openGatherer } from "../../src/frame/writer/gather.ts"
import type { Runner } from "../../src/frame/writer/run.ts"
import { openRunner } from "../../src/frame/writer/run.ts"
import { startConfirming } from "../../src/frame/writer/runner/fresh.ts"
import { PROGRAM } from "../../src/slices.ts"
import type { World } from "./world.ts"
import { carrierOf } from "./world.ts"
import type { Database, Model } from "./database.ts"
import { MODELS, newestCharge, workQueueOf } from "./database.ts"
import type { Owner } from "./schedule.ts"
import { plainSealing } from "./sealing.ts"
import { asksForCharges, kyselyAnswering } from "./sql.ts"
import { storeOf } from "./store.ts"
import type { Wire } from "./wire.ts"
import { ask, askDatabase } from "./wire.ts"
import { partly } from "../support/partly.ts"

const LOOK_EVERY_MS = 300

/** What a follower works with. */
interface FollowerPorts {
  readonly wire: Wire
  readonly owner: Owner
  readonly store: EventStore
  readonly database: Database
  /** Told when something was written. */
  readonly onApplied: (model: Model) => void
}

/** The position is another than the one that was thought: somebody else writes as well. */
class Overtaken extends Error {
  override readonly name = "Overtaken"
}

/** Keeps a read model up for as long as this process has the lease, again and again. */
async function keepUp(ports: FollowerPorts, model: Model, stopping: AbortSignal): Promise<void> {
  const { wire, owner, database } = ports
  const lease = `lease ${model}`
  while (!stopping.aborted) {
    try {
      const isHere = await askDatabase(wire, owner, () => {
        return database.has(lease, owner) || database.take(lease, owner)
      })
      if (isHere) await follow(ports, model, stopping)
    } catch (error) {
      // Nobody knows what of it is stored: the next round begins with a look.
      if (!(error instanceof Overtaken || isBroken(error))) throw error
    }
    await wire.schedule.pause(owner, LOOK_EVERY_MS, stopping)
  }
  await ask(wire, owner, () => database.release(lease, owner))
}

function isBroken(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ECONNRESET"
}

/** Follows the store from the stored position on. @throws Overtaken, and what breaks a connection */
async function follow(ports: FollowerPorts, model: Model, stopping: AbortSignal): Promise<void> {
  const { wire, owner, store, database, onApplied } = ports
  let known: Position = await askDatabase(wire, owner, () => database.positionOf(model))
  if (stopping.aborted) return
  const failed = Promise.withResolvers<never>()
  const change = async (write: () => boolean | Promise<boolean>): Promise<void> => {
    try {
      const written = await askDatabase(wire, owner, async () => {
        const isMine = await write()
        return isMine ? database.positionOf(model) : null
      })
      if (written === null) throw new Overtaken(`somebody else keeps ${model} up`)
      known = written
    } catch (error) {
      failed.reject(error)
      // This subscription handles nothing more: another one begins from the stored position.
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
      onCaughtUp: (head) => change(() => database.moveTo(model, known, head)),
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
const MOST_CLOSINGS = 500

/** A process of a run. */
export interface Process extends Owner {
  isAlive: boolean
  /** Until when it cannot tell the ledger's time, by the schedule. */
  unsureUntil: number
  readonly ports: Ports
  /** Claims that it holds: its successors may take them over. */
  readonly claims: Set<ClaimRequest>
  /** Told when it dies. */
  readonly onDeath: Set<() => void>
  /** What it is carrying out for callers. */
  readonly requests: Set<Promise<unknown>>
  /** Stops it in order. */
  readonly close: () => Promise<void>
}

/** How a process is set up. */
export interface Setup {
  readonly name: string
  /** How far its clock is from the ledger's time. */
  readonly skewMs: number
  /** How much its states may take: little makes it forget them all the time. */
  readonly mostBytes: number
  /** How long its callers wait who say nothing of it. */
  readonly deadlineMs: number
}

/** Starts a process. */
export function startProcess(world: World, setup: Setup): Process {
  const { database, records } = world
  const owner: Omit<Process, "ports" | "close"> = {
    name: setup.name,
    isAlive: true,
    unsureUntil: 0,
    claims: new Set(),
    onDeath: new Set(),
    requests: new Set(),
  }
  const base = basePorts(world, owner, setup)
  const { runner, store, pacer } = base
  const stopping = new AbortController()
  const warn = base.log.warn
  const reader = startReader(store, START, {
    onEvents: async (events) => runner.heard(events),
    onCaughtUp: () => undefined,
  })
  reader.ended.catch((error: unknown) => warn("the reader ended", error))
  const { handedOver } = reader
  const confirming = startConfirming({ store, pacer, runner, handedOver, warn })
  const closings = closingsOf(runner)
  const ports = partly<Ports>({
    ...base,
    streams: PROGRAM.streams,
    closeCharge: closings.add,
    tracing: NO_TRACING,
    projector: projectorOf(world, owner, reader),
  })
  const workers = startWorkers(ports, PROGRAM.reactions)
  const onApplied = (model: Model) => {
    if (model === "jobs") workers.wake()
  }
  const followers = MODELS.map((model) => {
    return keepUp({ wire: world, owner, store, database, onApplied }, model, stopping.signal)
  })
  const polling = poll(pacer, stopping.signal, workers.wake)
  return Object.assign(owner, {
    ports,
    close: async () => {
      await Promise.allSettled(owner.requests)
      await workers.stop()
      await closings.settled()
      await runner.close()
      await confirming.stop()
      stopping.abort()
      await Promise.all([...followers, polling])
      await reader.stop()
      records.closed.add(owner.name)
    },
  })
}

/** What stands on nothing but the world. */
function basePorts(
  world: World,
  owner: Owner & Pick<Process, "unsureUntil" | "claims">,
  setup: Setup,
) {
  const { schedule, database, records, chance } = world
  const pacer = schedule.pacerOf(owner)
  const store = storeOf(world, owner)
  const clock = {
    now: () => {
      if (schedule.now < owner.unsureUntil) throw new ClockUnsure("fault: the time is not known")
      return Math.round(world.time + setup.skewMs)
    },
  }
  const warn = (message: string, error: unknown): void => {
    records.warned.push({ process: owner.name, message, error })
  }
  const { checkpoints } = database
  const runner = openRunner({
    store,
    checkpoints: {
      load: (stream) => {
        if (chance.happens(world.faults.database)) return Promise.resolve(null)
        return askDatabase(unbroken(world), owner, () => checkpoints.load(stream))
      },
      save: (stream, checkpoint) => {
        return askDatabase(world, owner, () => checkpoints.save(stream, checkpoint))
      },
    },
    locks: locksOf(world, owner),
    clock,
    pacer,
    warn,
    mostBytes: setup.mostBytes,
    deadlineMs: setup.deadlineMs,
    newUuid: () => chance.uuid(),
  })
  return {
    runner: records.recorded(owner, runner),
    store,
    clock,
    pacer,
    sealing: plainSealing,
    claims: claimsOf(world, owner),
    carrier: carrierOf(world.carrier, world, owner),
    work: workQueueOf(database.work, owner, (effect) => askDatabase(world, owner, effect)),
    readAll: kyselyAnswering(async (query) => {
      if (!asksForCharges(query)) {
        throw new Error(`no such question is answered here: ${query.sql}`)
      }
      const [companyId, chargeId] = query.parameters as [CompanyId, ChargeId]
      return askDatabase(world, owner, () => {
        const row = newestCharge(database.rows.charges, companyId, chargeId)
        return row === null ? [] : [row]
      })
    }),
    keepRefusal: () => undefined,
    baseUrl: () => "http://ledger.test",
    log: { info: () => undefined, warn },
  }
}

/** The wire to a database that breaks no connection: what is asked there is asked again, or is late. */
function unbroken(world: World): Wire {
  const { chance, schedule, faults } = world
  const count = (what: string) => world.count(what)
  return { chance, schedule, count, faults: { ...faults, database: 0 } }
}

async function poll(pacer: Ports["pacer"], stopping: AbortSignal, wake: () => void): Promise<void> {
  while (!stopping.aborted) {
    await pacer.pause(POLL_MS, stopping)
    wake()
  }
}

/** Closings gather, as in the program. */
function closingsOf(runner: Runner) {
  return openGatherer<CompanyId, ChargeId>(MOST_CLOSINGS, async (companyId, chargeIds) => {
    const command = { type: "CloseCharges" as const, chargeIds }
    await runner.execute(ledgerOf(companyId), command, causedBy("close-charges"))
  })
}

/** Waiting for read models, by the positions that are stored with their rows. */
function projectorOf(
  world: World,
  owner: Owner,
  reader: Reader,
): Pick<Ports["projector"], "waitFor" | "hasRead"> {
  const { database, schedule } = world
  return {
    waitFor: async (position, timeoutMs, names = MODELS) => {
      const until = schedule.now + timeoutMs
      for (;;) {
        const isThere = await askDatabase(world, owner, () => {
          return (names as readonly Model[]).every((name) => {
            return comparePositions(database.positionOf(name), position) >= 0
          })
        })
        if (isThere && reader.has(position)) return true
        if (schedule.now >= until) return false
        await schedule.pause(owner, WAIT_STEP_MS)
      }
    },
    hasRead: async (name) => {
      const position = await askDatabase(world, owner, () => database.positionOf(name as Model))
      return reader.handedOver(position)
    },
  }
}

/** Locks of the database; one that is free may not be given, and one that is held may be lost. */
function locksOf(world: World, owner: Owner): Locks {
  const { database, schedule, chance } = world
  return {
    take: async (name, timeoutMs) => {
      if (chance.happens(world.faults.lockRefused)) {
        world.count("lock refused")
        return null
      }
      const until = schedule.now + timeoutMs
      for (;;) {
        const isMine = await askDatabase(unbroken(world), owner, () => database.take(name, owner))
        world.count(isMine ? "lock taken" : "lock waited for")
        if (isMine) {
          return () => askDatabase(unbroken(world), owner, () => database.release(name, owner))
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

/** Claims that end with the process that holds them. */
function claimsOf(world: World, owner: Owner & Pick<Process, "claims">): Claims {
  const { claims } = world.database
  const change = async <T>(request: ClaimRequest, ends: boolean, effect: () => Promise<T>) => {
    try {
      return await askDatabase(world, owner, async () => {
        // Whoever is dead holds nothing: somebody else may have it by now.
        const isMine = owner.isAlive && owner.claims.has(request)
        if (ends) owner.claims.delete(request)
        return isMine ? await effect() : (undefined as T)
      })
    } catch (error) {
      // What a process has no longer in hand, and could not say so, is taken for a dead one's.
      if (ends && owner.claims.delete(request)) await claims.leave(request)
      throw error
    }
  }
  return {
    claim: (request) =>
      askDatabase(unbroken(world), owner, async () => {
        const claim = await claims.claim(request)
        // What comes in from somebody who died meanwhile is a dead one's claim from the start.
        if (claim.state === "mine" && !owner.isAlive) await claims.leave(request)
        if (claim.state === "mine") owner.claims.add(request)
        return claim
      }),
    finish: (request, answer) => change(request, true, () => claims.finish(request, answer)),
    release: (request) => change(request, true, () => claims.release(request)),
    leave: (request) => change(request, true, () => claims.leave(request)),
    nextAttempt: (request) => change(request, false, () => claims.nextAttempt(request)),
    forgetBefore: async () => 0,
  }
}
