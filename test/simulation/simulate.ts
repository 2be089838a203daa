/** One run of the simulation: made from its seed and nothing else. */
import { createHash } from "node:crypto"
import { vi } from "vitest"
import { comparePositions } from "../../adapters/eventstore/port.ts"
import type { StoredEvent } from "../../adapters/eventstore/port.ts"
import { audit, auditOpen } from "./audit.ts"
import { Callers } from "./callers.ts"
import type { DatabaseFlaws } from "./database.ts"
import { MODELS } from "./database.ts"
import { CALM, drawFaults } from "./faults.ts"
import { Fleet } from "./fleet.ts"
import { showRows } from "./read-models.ts"
import { WORLD } from "./schedule.ts"
import { seenIn } from "./seen.ts"
import { setUp } from "./set-up.ts"
import { World } from "./world.ts"

const TROUBLE_MS = 20_000
/** Calls that are gathered are recorded after five seconds. */
const SETTLE_MS = 6_000
const HOUR_MS = 3_600_000
/** How the ledger's time goes on when all is calm: open charges end, and a night passes. */
const LATER = [HOUR_MS, HOUR_MS, 25 * HOUR_MS, HOUR_MS]
const ROUND_MS = 1_200

/** What came of a run. */
export interface Run {
  readonly seed: number
  /** What does not hold; empty where everything does. */
  readonly breaks: readonly string[]
  /** A hash over everything that is stored and told, in the order in which it was. */
  readonly digest: string
  /** How often what happened. */
  readonly seen: ReadonlyMap<string, number>
}

/** Runs the simulation for a seed. What fails is told in `breaks`: nothing is thrown. */
export async function simulate(seed: number, flaws: DatabaseFlaws = {}): Promise<Run> {
  // The workers look for work by a timer of the machine: here they are woken by the schedule.
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] })
  const world = new World(seed, flaws)
  const breaks: string[] = []
  try {
    await live(world, breaks)
  } catch (error) {
    breaks.push(`the run broke: ${error instanceof Error ? error.stack : String(error)}`)
  } finally {
    vi.useRealTimers()
  }
  const events = await everything(world)
  return { seed, breaks, digest: digestOf(world, events), seen: seenIn(world, events) }
}

/** Trouble, then calm; what is open ends, everything is stopped, and the audit looks at it. */
async function live(world: World, breaks: string[]): Promise<void> {
  const { schedule, chance, database } = world
  const fleet = new Fleet(world)
  const companies = await during(world, setUp(world, fleet))
  world.faults = drawFaults(chance)
  const callers = new Callers(world, fleet, companies)
  const asking = callers.run()
  void fleet.misfortune(() => world.faults === CALM)
  await during(world, Promise.race([asking, schedule.pause(WORLD, TROUBLE_MS)]))
  world.faults = CALM
  world.carrier.isCalm = true
  // What a process could not let go in time, its end lets go.
  fleet.replaceAll()
  await during(world, asking)
  await during(world, schedule.pause(WORLD, SETTLE_MS))
  await during(world, caughtUp(world))
  breaks.push(...auditOpen(world, await everything(world)))
  for (const ms of LATER) {
    database.work.retryAll()
    world.jump(ms)
    await during(world, schedule.pause(WORLD, ROUND_MS))
  }
  await during(world, fleet.stopAll())
  breaks.push(...(await audit({ world, callers, events: await everything(world) })))
}

/** Lets time pass until something is done. */
async function during<T>(world: World, work: Promise<T>): Promise<T> {
  let isDone = false
  const done = work.finally(() => {
    isDone = true
  })
  // Whoever waits for it is told below; until then nobody does.
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
