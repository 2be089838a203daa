/** Moments of a lane between two processes that no clock brings about. */
import type pg from "pg"
import { afterEach, beforeAll, describe, expect, it, onTestFinished } from "vitest"
import { machinePacer } from "../../adapters/clock/pacer.ts"
import type { StoredEvent } from "../../adapters/eventstore/port.ts"
import { START } from "../../adapters/eventstore/port.ts"
import { Lane } from "../../adapters/postgres/projector/lane.ts"
import type { Projection } from "../../projections/projection.ts"
import { DatabaseUnderTest } from "./database-under-test.ts"
import { ProjectorUnderTest, decode, sums } from "./projector-fixture.ts"

const database = new DatabaseUnderTest()
let pool: pg.Pool
beforeAll(() => {
  pool = database.pool(20)
})
afterEach(async () => {
  await pool.query("drop schema read cascade; create schema read")
  await pool.query("delete from ledger.projections")
})

/** A read model with its table, and lanes of it as processes have them. */
async function lanesOf(projection: Projection) {
  const test = new ProjectorUnderTest(pool)
  const projector = await test.start([projection])
  await projector.close()
  const open = (): Lane => {
    const lane = new Lane(
      {
        pool,
        store: test.store,
        pacer: machinePacer,
        decode,
        opener: { open: async (_company, sealed) => sealed },
        warn: (message, error) => expect.unreachable(`${message}: ${String(error)}`),
        onApplied: () => undefined,
      },
      projection,
      START,
    )
    onTestFinished(() => lane.close())
    return lane
  }
  const events = async (): Promise<readonly StoredEvent[]> => {
    const all: StoredEvent[] = []
    for await (const page of test.store.readAll()) all.push(...page)
    return all
  }
  const written = async (lane: Lane) => lane.waiters.add(await test.store.head()).done
  return { test, open, events, written }
}

describe("a lane that takes over", () => {
  it("writes nothing again that its own reader hands over later than it was written", async () => {
    const { test, open, events, written } = await lanesOf(
      sums({ name: "spent", category: "spending" }),
    )
    const [one, two] = [open(), open()]
    await test.add("spending-a", 1, 10)
    one.takeUp()
    one.deliver(await events())
    expect(await written(one)).toBe(true)
    one.putDown()
    two.takeUp()
    await two.drained(0)
    await expect.poll(() => two.has({ commit: 1n, prepare: 1n })).toBe(true)
    two.deliver(await events())
    await test.add("spending-a", 100)
    two.deliver((await events()).slice(-1))
    expect(await written(two)).toBe(true)
    expect(await test.rows("spent")).toEqual([{ company_id: "a", sum: 111, facts: 3 }])
  })

  it("reads again what came while it had put its duty down, in the middle of a batch", async () => {
    const begun = Promise.withResolvers<void>()
    const gate = Promise.withResolvers<void>()
    const { test, open, events, written } = await lanesOf(
      sums({
        name: "spent",
        category: "spending",
        afterApply: () => {
          begun.resolve()
          return gate.promise
        },
      }),
    )
    const lane = open()
    await test.add("spending-a", 1)
    lane.deliver(await events())
    lane.takeUp()
    await begun.promise
    lane.putDown()
    await test.add("spending-a", 10)
    lane.deliver((await events()).slice(-1))
    lane.takeUp()
    gate.resolve()
    expect(await written(lane)).toBe(true)
    expect(await test.rows("spent")).toEqual([{ company_id: "a", sum: 11, facts: 2 }])
  })
})
