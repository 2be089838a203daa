/** What slices keep for a time, in PostgreSQL. */
import { beforeEach, describe, expect, it } from "vitest"
import { machinePacer } from "../../adapters/clock/pacer.ts"
import { openPostgresErasure } from "../../adapters/erasure/postgres.ts"
import type { KeptThing } from "../../adapters/kept/port.ts"
import { openPostgresKept } from "../../adapters/kept/postgres.ts"
import { databaseUnderTest } from "./database-under-test.ts"

const COMPANY = "co_aaaaaa"
const OTHER = "co_bbbbbb"
const NOW = Date.UTC(2031, 4, 6, 7, 8, 9, 123)
const MINUTE = 60_000

interface Count {
  readonly count: number
}

const database = await databaseUnderTest()
const pool = database.pool()
let now: number

/** What a process knows: nothing but what is stored. */
const open = (kind = "pick", slice = "places") =>
  openPostgresKept({ pool, clock: { now: () => now } }).of<Count>({ slice, kind })
const oneMore = (known: KeptThing<Count> | null): KeptThing<Count> => ({
  content: { count: (known?.content.count ?? 0) + 1 },
  until: now + MINUTE,
})
const rows = async () => (await pool.query("select name from ledger.kept")).rowCount

beforeEach(async () => {
  await pool.query("truncate ledger.kept")
  now = NOW
})

describe("a thing that is kept", () => {
  it("is found by whoever asks for it by its name, until its time is over", async () => {
    await open().change(COMPANY, "a", oneMore)
    const found = { content: { count: 1 }, until: NOW + MINUTE }
    expect(await open().find(COMPANY, "a")).toEqual(found)
    now = NOW + MINUTE - 1
    expect(await open().find(COMPANY, "a")).toEqual(found)
    now = NOW + MINUTE
    expect(await open().find(COMPANY, "a")).toBeNull()
    // Then another takes its place, and is the first of its name.
    expect((await open().change(COMPANY, "a", oneMore)).content).toEqual({ count: 1 })
  })

  it("is the company's, the slice's and the kind's own", async () => {
    await open().change(COMPANY, "a", oneMore)
    expect(await open().find(OTHER, "a")).toBeNull()
    expect(await open("code").find(COMPANY, "a")).toBeNull()
    expect(await open("pick", "code").find(COMPANY, "a")).toBeNull()
    expect(await open().find(COMPANY, "b")).toBeNull()
  })

  it("is changed by one at a time", async () => {
    const changes = Array.from({ length: 40 }, () => open().change(COMPANY, "a", oneMore))
    const counts = (await Promise.all(changes)).map(({ content }) => content.count)
    expect(counts.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 40 }, (_, i) => i + 1))
  })

  it("has one owner where many take what nobody has, whether its time was over or not", async () => {
    for (const when of [NOW, NOW + MINUTE, NOW + 3 * MINUTE]) {
      now = when
      const takers = Array.from({ length: 40 }, async (_, i) => {
        const taken = await open().change(
          COMPANY,
          "a",
          (known) => known ?? { content: { count: i }, until: now + MINUTE },
        )
        return taken.content.count === i
      })
      expect((await Promise.all(takers)).filter(Boolean)).toHaveLength(1)
    }
  })

  it("is not written where the change gives the same object", async () => {
    await open().change(COMPANY, "a", oneMore)
    const versions = () => pool.query("select xmin::text from ledger.kept")
    const before = (await versions()).rows
    await open().change(COMPANY, "a", (known) => known ?? expect.fail("it was not found"))
    expect((await versions()).rows).toEqual(before)
  })

  it("is forgotten", async () => {
    await open().change(COMPANY, "a", oneMore)
    await open().change(COMPANY, "b", oneMore)
    await open().forget(COMPANY, "a")
    expect(await open().find(COMPANY, "a")).toBeNull()
    expect(await rows()).toBe(1)
  })

  it("is swept once its time is over", async () => {
    await open().change(COMPANY, "a", oneMore)
    now = NOW + 1
    await open().change(COMPANY, "b", oneMore)
    now = NOW + MINUTE
    await openPostgresKept({ pool, clock: { now: () => now } }).sweep()
    expect(await rows()).toBe(1)
    expect(await open().find(COMPANY, "b")).not.toBeNull()
  })

  it("goes with its company", async () => {
    await open().change(COMPANY, "a", oneMore)
    await open().change(OTHER, "a", oneMore)
    const forgetKeys = () => undefined
    await openPostgresErasure({
      pool,
      pacer: machinePacer,
      forgetKeys,
      readModels: [],
    }).deleteRows(COMPANY)
    expect(await open().find(COMPANY, "a")).toBeNull()
    expect(await open().find(OTHER, "a")).not.toBeNull()
  })
})
