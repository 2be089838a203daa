/** Two hundred boxes for twelve hours on a virtual clock: their charges add up to the micro-dollar. */
import { describe, expect, it } from "vitest"
import { boxStreamOf, boxSlotsStreamOf } from "../../domain/boxes/aggregates.ts"
import { slotHoldersOf } from "../../domain/kernel/slots.ts"
import { viewOfBox } from "../../domain/boxes/box.ts"
import { ledgerStreamOf } from "../../domain/charging/aggregates.ts"
import { accountOf } from "../../domain/charging/ledger-views.ts"
import type { BoxId } from "../../domain/boxes/ids.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { Runner } from "../../src/frame/writer/runner.ts"
import { SeededRandom } from "../simulation/schedule.ts"
import {
  MinuteWorld,
  openFundedCompany,
  openTestPriceBook,
  requestBoxStart,
  requestBoxStop,
} from "./minute-world.ts"
import { auditMinutes } from "./minute-audit.ts"
import type { InterleavedJob } from "./interleaving.ts"
import { NOON } from "./interleaving.ts"

const COMPANIES: readonly CompanyId[] = ["co_aaaaaa", "co_bbbbbb", "co_cccccc", "co_dddddd"]
const BOXES = 200
const HOURS_MS = 12 * 3_600_000
const FUNDS_MICROS = 40_000_000
const TEST_TIMEOUT_MS = 600_000

/** Starts boxes of every kind over the first hours, by a seed. */
async function startBoxes(world: MinuteWorld, chance: SeededRandom): Promise<void> {
  world.isUnblocked = true
  await openTestPriceBook(world)
  for (const companyId of COMPANIES) {
    await openFundedCompany(world, companyId, "329", FUNDS_MICROS)
  }
  for (let i = 0; i < BOXES; i += 1) {
    const companyId = COMPANIES[i % COMPANIES.length] as CompanyId
    const options = {
      size: chance.pick(["small", "medium", "large", "xlarge"] as const),
      maxMinutes: chance.pick([1, 30, 60, 120, 720]),
      idleMinutes: chance.pick([5, 15, 60]),
      budget: chance.pick([null, null, 0.1, 0.25]),
    }
    void world.start(i % 2, null, (ports) =>
      requestBoxStart(ports, companyId, { name: `start ${i}`, options, attempt: 0 }, false),
    )
    await world.finish()
    await runUntil(world, world.now + chance.between(0, 20_000))
  }
}

/** Runs all jobs that are due until a time; with `chance`, boxes are used, stopped and lost meanwhile. */
async function runUntil(world: MinuteWorld, until: number, chance?: SeededRandom): Promise<void> {
  for (let i = 0; ; i += 1) {
    let next: InterleavedJob | null = null
    for (const row of world.stored.jobs.values()) {
      if (next === null || row.dueAt < next.dueAt) next = row
    }
    if (next === null || next.dueAt > until) break
    if (next.dueAt > world.now) world.advance(next.dueAt - world.now)
    // Both processes run every hundredth job concurrently.
    world.runJob(next, i % 2, null)
    if (i % 100 === 0) world.runJob(next, (i + 1) % 2, null)
    await world.finish()
    if (chance !== undefined) await disturb(world, chance)
  }
  if (until > world.now) world.advance(until - world.now)
}

async function disturb(world: MinuteWorld, chance: SeededRandom): Promise<void> {
  const boxes = [...(world.machines[0]?.values() ?? [])]
  if (boxes.length === 0) return
  const box = chance.pick(boxes)
  if (chance.happens(0.3)) box.activities += 1
  if (chance.happens(0.001)) world.machines[0]?.delete(box.plan.boxId)
  const { companyId } = box.plan
  const boxId = box.plan.boxId as BoxId
  if (chance.happens(0.002))
    await world.start(0, null, (ports) => requestBoxStop(ports, companyId, boxId, false))
}

describe("two hundred boxes for twelve hours", () => {
  it.each([2])("add up (seed %d)", { timeout: TEST_TIMEOUT_MS }, async (seed) => {
    const world = new MinuteWorld(2)
    const chance = new SeededRandom(seed)
    await startBoxes(world, chance)
    await runUntil(world, NOON + HOURS_MS, chance)
    // Boxes that still run are stopped, and the remaining jobs are done.
    const facts = world.stored.facts.map(({ fact }) => fact)
    const all = world.stored.facts.flatMap(({ fact, companyId }) =>
      fact.type === "BoxStarted" && companyId !== null ? [{ companyId, boxId: fact.boxId }] : [],
    )
    for (const { companyId, boxId } of all) {
      await world.start(0, null, (ports) => requestBoxStop(ports, companyId, boxId, false))
    }
    await runUntil(world, NOON + HOURS_MS + 3_600_000)
    expect(world.faults).toEqual([])
    expect(world.stored.jobs.size).toBe(0)
    const { violations, owedMicros } = auditMinutes(world.stored.facts, true)
    expect(violations).toEqual([])
    expect(facts.filter(({ type }) => type === "BoxMinuteStarted").length).toBeGreaterThan(4_000)
    const [runner] = world.runners as [Runner]
    let shownMicros = 0
    for (const { companyId, boxId } of all) {
      const view = await runner.readLatest(boxStreamOf(companyId, boxId), viewOfBox)
      if (view === null) throw new Error(`${boxId} was started and has no view`)
      const minutes = view.minutes - (view.isLastRefused ? 1 : 0)
      expect(view.started.unitPriceMicros * minutes).toBe(owedMicros.get(boxId))
      shownMicros += view.started.unitPriceMicros * minutes
    }
    let leftMicros = 0
    for (const companyId of COMPANIES) {
      leftMicros += (await runner.readLatest(ledgerStreamOf(companyId), accountOf)).fundsMicros
      expect(await runner.readLatest(boxSlotsStreamOf(companyId), slotHoldersOf)).toEqual([])
    }
    expect(COMPANIES.length * FUNDS_MICROS - leftMicros).toBe(shownMicros)
  })
})
