/** One run of the simulation: made from its seed and nothing else. */
import { createHash } from "node:crypto"
import { vi } from "vitest"
import { comparePositions } from "../../adapters/eventstore/port.ts"
import type { StoredEvent } from "../../adapters/eventstore/port.ts"
import type { AuditedRun } from "./audit.ts"
import { audit, auditOpen } from "./audit.ts"
import { Callers } from "./callers.ts"
import type { DatabaseFlaws } from "./database.ts"
import { MODELS } from "./database.ts"
import { CALM, drawFaults } from "./faults.ts"
import { Fleet } from "./fleet.ts"
import { showRows } from "./read-models.ts"
import { WORLD } from "./schedule.ts"
import { setUp } from "./set-up.ts"
import { World } from "./world.ts"

const TROUBLE_MS = 20_000
/** Calls that are gathered are recorded after five seconds. */
const SETTLE_MS = 8_000
const HOUR_MS = 3_600_000
const ROUNDS = 6

/** What came of a run. */
export interface Run {
  readonly seed: number
  /** What does not hold; empty where everything does. */
  readonly breaks: readonly string[]
  /** A hash over everything that is stored, in the order in which it was. */
  readonly digest: string
  readonly events: number
  readonly steps: number
  readonly crashes: number
}

/** Runs the simulation for a seed. What fails is told in `breaks`: nothing is thrown. */
export async function simulate(seed: number, flaws: DatabaseFlaws = {}): Promise<Run> {
  // The workers look for work by a timer of the machine: here they are woken by the schedule.
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] })
  const world = new World(seed, flaws)
  const breaks: string[] = []
  let crashes = 0
  try {
    const fleet = new Fleet(world)
    await live(world, fleet, breaks).finally(() => {
      crashes = fleet.crashes
    })
  } catch (error) {
    breaks.push(`the run broke: ${error instanceof Error ? error.stack : String(error)}`)
  } finally {
    vi.useRealTimers()
  }
  const events = await everything(world)
  const digest = digestOf(world, events)
  return { seed, breaks, digest, events: events.length, steps: world.schedule.steps, crashes }
}

/** Trouble, then calm; what is open ends, everything is stopped, and the audit looks at it. */
async function live(world: World, fleet: Fleet, breaks: string[]): Promise<void> {
  const { schedule, chance } = world
  const companies = await during(world, setUp(world, fleet))
  world.faults = drawFaults(chance)
  const callers = new Callers(world, fleet, companies)
  let isOver = false
  const asking = callers.run(chance.between(2, 6), chance.between(4, 14)).finally(() => {
    isOver = true
  })
  void fleet.misfortune(() => world.faults === CALM)
  await during(world, Promise.race([asking, schedule.pause(WORLD, TROUBLE_MS)]))
  world.faults = CALM
  world.carrier.isCalm = true
  // What a process could not let go in time, its end lets go.
  fleet.crashAll()
  await during(world, asking)
  if (!isOver) breaks.push("callers are left without an answer")
  await during(world, schedule.pause(WORLD, SETTLE_MS))
  await during(world, caughtUp(world))
  breaks.push(...auditOpen(world, await everything(world)))
  for (let round = 0; round < ROUNDS; round += 1) {
    // First the time for open charges, then the night in which calls are charged.
    world.jump(round === 3 ? 25 * HOUR_MS : HOUR_MS)
    await during(world, schedule.pause(WORLD, 1_200))
  }
  await during(world, fleet.stopAll())
  const run: AuditedRun = { world, callers, events: await everything(world) }
  breaks.push(...(await audit(run)))
}

/** Lets time pass until something is done. */
async function during<T>(world: World, work: Promise<T>): Promise<T> {
  let isDone = false
  const done = work.finally(() => {
    isDone = true
  })
  done.catch(() => undefined)
  await world.schedule.runUntil(() => isDone)
  return done
}

/** Resolves once every read model has taken everything. */
async function caughtUp({ schedule, store, database }: World): Promise<void> {
  const head = await store.head()
  while (!MODELS.every((name) => comparePositions(database.positionOf(name), head) >= 0)) {
    await schedule.pause(WORLD, 100)
  }
}

async function everything({ store }: World): Promise<readonly StoredEvent[]> {
  const events: StoredEvent[] = []
  for await (const page of store.readAll()) events.push(...page)
  return events
}

function digestOf({ database, records, schedule }: World, events: readonly StoredEvent[]): string {
  const hash = createHash("sha256")
  for (const { stream, id, data, metadata } of events) hash.update(stream + id + data + metadata)
  for (const rows of Object.values(database.rows)) hash.update(showRows(rows))
  for (const { cause, process, lengthTold } of records.commanded) {
    hash.update(`${cause} ${process} ${lengthTold}\n`)
  }
  return hash.update(`${schedule.steps} ${schedule.now}`).digest("hex")
}
