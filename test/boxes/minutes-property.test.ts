/** The law of minutes: charged are those that began, each once, whoever dies where and whatever happens. */
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { addFunds, arrange, limitWeek } from "./minute-company.ts"
import { reckon } from "./minute-law.ts"
import { COMPANY, Play, histories, play } from "./minute-steps.ts"
import type { MinuteWorld } from "./minute-world.ts"
import { settled } from "./minute-world.ts"

const LOT_TIMEOUT_MS = 600_000
const RUNS = 300
const ASKED = { size: "small", maxMinutes: 9, idleMinutes: 60, budget: null } as const
/** A look at a box, or a start, has no more turns. */
const MOST_TURNS = 18

/** What has to happen in so many histories, so that they show anything. */
const HAPPENS = [
  "BoxAbandoned",
  "BoxFailed",
  "BoxDeleted",
  "BoxMinuteRefused",
  "ChargeGivenBack",
  ...["stopped", "idle", "time_cap", "budget", "spending_limit", "funds", "key_changed"].map(
    (reason) => `BoxStopped ${reason}`,
  ),
]

const holds = (world: MinuteWorld, isOver: boolean): void => {
  expect(world.faults).toEqual([])
  expect(reckon(world.stored.facts, isOver).wrong).toEqual([])
}

describe("minutes", () => {
  it(
    "that began are charged once each, whatever interleaves",
    { timeout: LOT_TIMEOUT_MS },
    async () => {
      const seen = new Map<string, number>()
      await fc.assert(
        fc.asyncProperty(histories(160), async (history) => {
          const world = await play(history, holds)
          const { happened } = reckon(world.stored.facts, true)
          for (const [what, times] of happened) seen.set(what, (seen.get(what) ?? 0) + times)
        }),
        // A history is made short again by its seed: that takes longer than a test may.
        { numRuns: RUNS, endOnFailure: true },
      )
      expect(HAPPENS.filter((what) => !seen.has(what))).toEqual([])
    },
  )

  it(
    "are the same whoever dies at any line of a start, of making the box, or of a minute",
    { timeout: LOT_TIMEOUT_MS },
    async () => {
      const wrong: string[] = []
      for (const what of ["start", "make-box", "tick-box"] as const) {
        for (let at = 1; at <= MOST_TURNS; at += 1) {
          for (const isDone of [false, true]) {
            const played = new Play()
            const { world } = played
            await played.open(what === "tick-box" ? [ASKED] : [])
            world.isFree = true
            const fate = { at, isDone }
            const own = what === "start" ? fate : null
            await played.step({ does: "start", asked: ASKED, by: 0, fate: own })
            await world.finish()
            const row = [...world.stored.rows.values()].find(({ key }) => key.startsWith(what))
            if (row !== undefined) {
              world.pass(Math.max(0, row.dueAt - world.now))
              world.work(row, 0, fate)
              await world.finish()
            }
            await played.end()
            const found = reckon(world.stored.facts, true).wrong
            if (found.length > 0) wrong.push(`${what} ${at} ${isDone}: ${found.join()}`)
            wrong.push(...world.faults.map(String))
          }
        }
      }
      expect(wrong).toEqual([])
    },
  )

  /** One process comes so far, there is no room for another so far, and then there is room for both. */
  async function flip(first: number, second: number, late: number): Promise<Play> {
    const played = new Play()
    const { world } = played
    await played.open([ASKED])
    const row = [...world.stored.rows.values()].find(({ key }) => key.startsWith("tick-box"))
    if (row === undefined) throw new Error("a box that runs is looked at")
    world.pass(row.dueAt - world.now + late)
    world.work(row, 0, null)
    await settled()
    for (let i = 0; i < first; i += 1) await world.letOf(0)
    await arrange(world, COMPANY, limitWeek(2_000))
    world.work(row, 1, null)
    await settled()
    for (let i = 0; i < second; i += 1) await world.letOf(1)
    await arrange(world, COMPANY, limitWeek(null))
    await arrange(world, COMPANY, addFunds(1))
    return played
  }

  it.each([0, 60_000])(
    "are charged or refused, and never both, where room comes and goes between two that charge (%d late)",
    { timeout: LOT_TIMEOUT_MS },
    async (late) => {
      const wrong: string[] = []
      for (let first = 0; first <= MOST_TURNS; first += 1) {
        for (let second = 0; second <= MOST_TURNS; second += 1) {
          for (const last of [0, 1]) {
            const played = await flip(first, second, late)
            while (await played.world.letOf(1 - last));
            await played.end()
            const found = reckon(played.world.stored.facts, true).wrong
            if (found.length > 0) wrong.push(`${first} ${second} ${last}: ${found.join()}`)
            wrong.push(...played.world.faults.map(String))
          }
        }
      }
      expect(wrong).toEqual([])
    },
  )
})
