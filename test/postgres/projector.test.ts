import type pg from "pg"
import { afterEach, beforeAll, describe, expect, it } from "vitest"
import { ReadModelAhead } from "../../adapters/postgres/projector/projector.ts"
import type { Projection } from "../../projections/projection.ts"
import { DatabaseUnderTest } from "./database-under-test.ts"
import { ProjectorUnderTest, sums } from "./projector-fixture.ts"

const database = new DatabaseUnderTest()
let pool: pg.Pool
beforeAll(() => {
  pool = database.pool(20)
})
afterEach(async () => {
  await pool.query("drop schema read cascade; create schema read")
  await pool.query("delete from ledger.projections")
})

const SPENT = sums({ name: "spent", category: "spending" })
const EARNED = sums({ name: "earned", category: "earning" })

/** A pool on whose connections a test answers for the driver: null lets a statement pass. */
function poolThat(
  interferes: (text: string, run: () => Promise<unknown>) => Promise<unknown> | null,
) {
  const connect = async () => {
    const client = await pool.connect()
    const query = (...given: [string, unknown[]?]) =>
      interferes(given[0], () => client.query(...given)) ?? client.query(...given)
    return { query, release: (broken?: boolean) => client.release(broken) }
  }
  return { connect, query: pool.query.bind(pool) } as unknown as pg.Pool
}

describe("a projector", () => {
  it("writes every fact once, in batches, each read model its own", async () => {
    const test = new ProjectorUnderTest(pool)
    await test.add("spending-a", 1, 2)
    const projector = await test.start([SPENT, EARNED])
    await test.add("spending-b", ...Array.from({ length: 2_500 }, () => 1))
    await test.add("earning-a", 7)
    await test.add("other", 1)
    expect(await test.shown(projector)).toBe(true)
    expect(await test.rows("spent")).toEqual([
      { company_id: "a", sum: 3, facts: 2 },
      { company_id: "b", sum: 2_500, facts: 2_500 },
    ])
    expect(await test.rows("earned")).toEqual([{ company_id: "a", sum: 7, facts: 1 }])
    expect(test.applied.filter((name) => name === "spent").length).toBeLessThan(10)
  })

  it("goes on where it stood after a restart, also past facts that meant nothing to it", async () => {
    const test = new ProjectorUnderTest(pool)
    const first = await test.start([SPENT])
    await test.add("spending-a", 1)
    await test.add("other-a", 1, 2, 3)
    await test.shown(first)
    await first.close()
    expect((await test.stored("spent")).commit_position).toBe(3)
    await test.add("spending-a", 10)
    const second = await test.start([SPENT])
    expect(await test.shown(second)).toBe(true)
    expect(await test.rows("spent")).toEqual([{ company_id: "a", sum: 11, facts: 2 }])
  })

  it("answers false when the time runs out, and waits for the named read models only", async () => {
    const gate = Promise.withResolvers<void>()
    const slow = sums({ name: "slow", category: "spending", afterApply: () => gate.promise })
    const test = new ProjectorUnderTest(pool)
    const projector = await test.start([SPENT, slow])
    await test.add("spending-a", 1)
    expect(await test.shown(projector, "spent")).toBe(true)
    expect(await projector.waitFor(await test.store.head(), 1, ["slow"])).toBe(false)
    gate.resolve()
    expect(await test.shown(projector)).toBe(true)
  })

  it("builds a read model of another version anew, and never what is only a hint", async () => {
    const test = new ProjectorUnderTest(pool)
    const hint: Projection = { ...sums({ name: "hints", category: "spending" }), tables: [] }
    await pool.query(
      `create table read.hints (company_id text primary key, sum bigint, facts bigint)`,
    )
    await test.add("spending-a", 1)
    const first = await test.start([SPENT], [hint])
    await test.shown(first)
    await first.close()
    await pool.query("update read.spent set sum = 100")
    const second = await test.start([{ ...SPENT, version: 2 }], [{ ...hint, version: 2 }])
    await test.shown(second)
    expect(await test.rows("spent")).toEqual([{ company_id: "a", sum: 1, facts: 1 }])
    expect(await test.rows("hints")).toEqual([{ company_id: "a", sum: 1, facts: 1 }])
    expect(second.status()).toMatchObject([{ name: "spent", version: 2 }, { name: "hints" }])
    expect(second.rebuildable).toEqual(["spent"])
    await expect(second.rebuild("hints", () => undefined)).rejects.toThrow(RangeError)
    await expect(second.verify("nothing", () => undefined)).rejects.toThrow(/there are spent/)
  })

  it("refuses to start beyond the head of its store, and says what to do", async () => {
    const test = new ProjectorUnderTest(pool)
    const first = await test.start([SPENT])
    await test.add("spending-a", 1)
    await test.shown(first)
    await first.close()
    const other = new ProjectorUnderTest(pool)
    await expect(other.start([SPENT])).rejects.toThrow(ReadModelAhead)
    await expect(other.start([SPENT])).rejects.toThrow(/delete from ledger.projections/)
    await pool.query("delete from ledger.projections")
    expect(await other.shown(await other.start([SPENT]))).toBe(true)
    expect(await test.rows("spent")).toEqual([])
  })
})

describe("a batch whose connection breaks", () => {
  it("before its commit is written again, once", async () => {
    let kills = 3
    const killed = sums({
      name: "spent",
      category: "spending",
      afterApply: async () => {
        kills -= 1
        if (kills < 0) return
        await pool.query(
          `select pg_terminate_backend(pid, 5000) from pg_stat_activity
           where datname = current_database() and state = 'idle in transaction'`,
        )
      },
    })
    const test = new ProjectorUnderTest(pool)
    const projector = await test.start([killed, EARNED])
    await test.add("spending-a", 1, 2, 3)
    await test.add("earning-a", 5)
    expect(await test.shown(projector)).toBe(true)
    expect(await test.rows("spent")).toEqual([{ company_id: "a", sum: 6, facts: 3 }])
    expect(test.warnings).toContain("read model spent waits for the database")
    expect(projector.status()).toMatchObject([{ state: "running" }, { state: "running" }])
  })

  it("after its commit, with the answer lost, is not written again", async () => {
    let losses = 0
    const lossy = poolThat((text, run) => {
      if (text !== "commit" || losses === 0) return null
      losses -= 1
      return run().then(() => Promise.reject(new Error("Connection terminated unexpectedly")))
    })
    const test = new ProjectorUnderTest(pool)
    const projector = await test.start([SPENT], [], lossy)
    losses = 3
    for (const amount of [1, 2, 3, 4]) {
      await test.add("spending-a", amount)
      expect(await test.shown(projector)).toBe(true)
    }
    expect(losses).toBe(0)
    expect(await test.rows("spent")).toEqual([{ company_id: "a", sum: 10, facts: 4 }])
    expect((await test.stored("spent")).commit_position).toBe(3)
  })

  it("and that a crash of the server took back, is written again with what it lost", async () => {
    const test = new ProjectorUnderTest(pool)
    const projector = await test.start([SPENT, EARNED])
    await test.add("spending-a", 1)
    await test.shown(projector)
    await test.add("spending-a", 10)
    await test.add("earning-a", 5)
    await test.add("spending-a", 100)
    await test.shown(projector)
    await pool.query("update read.spent set sum = 1, facts = 1")
    await pool.query(
      "update ledger.projections set commit_position = 0, prepare_position = 0 where name = 'spent'",
    )
    await test.add("spending-a", 1_000)
    await test.add("earning-a", 1)
    expect(await test.shown(projector)).toBe(true)
    expect(await test.rows("spent")).toEqual([{ company_id: "a", sum: 1_111, facts: 4 }])
    expect(await test.rows("earned")).toEqual([{ company_id: "a", sum: 6, facts: 2 }])
    expect(test.warnings).toEqual(["read model spent goes back by 2 events"])
  })

  it("does not hold up a projector that closes while the database is away", async () => {
    let isAway = false
    const away = poolThat((text) =>
      isAway && text === "begin" ? Promise.reject(new Error("Connection terminated")) : null,
    )
    const test = new ProjectorUnderTest(pool)
    const projector = await test.start([SPENT], [], away)
    isAway = true
    await test.add("spending-a", 1)
    const waiting = test.shown(projector)
    await expect.poll(() => test.warnings.length).toBeGreaterThan(0)
    await projector.close()
    expect(await waiting).toBe(false)
    const next = await test.start([SPENT])
    expect(await test.shown(next)).toBe(true)
    expect(await test.rows("spent")).toEqual([{ company_id: "a", sum: 1, facts: 1 }])
  })

  it("is written once where two processes run the same read model", async () => {
    const test = new ProjectorUnderTest(pool)
    const both = [await test.start([SPENT]), await test.start([SPENT])]
    for (let i = 0; i < 50; i += 1) await test.add(`spending-${i % 3}`, 1, 1)
    await test.add("other-a", 1)
    expect(await Promise.all(both.map((one) => test.shown(one)))).toEqual([true, true])
    const rows = await test.rows("spent")
    expect(rows.reduce((sum, row) => sum + row.facts, 0)).toBe(100)
  })
})

describe("a fact that cannot be taken", () => {
  it("stops the read model right before it, says where and why, and no other read model", async () => {
    const test = new ProjectorUnderTest(pool)
    const projector = await test.start([SPENT, EARNED])
    await test.add("spending-a", 1, 2, "poison", 4)
    await test.add("earning-a", 5)
    expect(await test.shown(projector)).toBe(false)
    expect(await test.shown(projector, "earned")).toBe(true)
    expect(await test.shown(projector, "spent")).toBe(false)
    expect(await test.rows("spent")).toEqual([{ company_id: "a", sum: 3, facts: 2 }])
    expect(await test.rows("earned")).toEqual([{ company_id: "a", sum: 5, facts: 1 }])
    const fault = "spending-a revision 2: this fact has no amount"
    expect(projector.status()).toMatchObject([
      { name: "spent", state: "stopped", fault, behind: 0, position: { commit: 1n } },
      { name: "earned", state: "running", fault: null },
    ])
    expect((await test.stored("spent")).fault).toBe(fault)
    await test.add("earning-a", 6)
    expect(await test.shown(projector, "earned")).toBe(true)
  })

  it("is tried again after a restart, and forgotten once it can be taken", async () => {
    const test = new ProjectorUnderTest(pool)
    const broken: Projection = { ...SPENT, apply: async () => Promise.reject(new Error("a bug")) }
    const first = await test.start([broken])
    await test.add("spending-a", 1)
    expect(await test.shown(first)).toBe(false)
    await first.close()
    const second = await test.start([broken])
    await test.add("spending-a", 2)
    expect(await test.shown(second)).toBe(false)
    expect(second.status()[0]?.fault).toBe("spending-a revision 0: a bug")
    await second.close()
    const mended = await test.start([SPENT])
    expect(await test.shown(mended)).toBe(true)
    expect(await test.rows("spent")).toEqual([{ company_id: "a", sum: 3, facts: 2 }])
    expect((await test.stored("spent")).fault).toBeNull()
  })
})

describe("a rebuild", () => {
  it("mends a read model while facts go on being written", async () => {
    const test = new ProjectorUnderTest(pool)
    const projector = await test.start([SPENT, EARNED])
    await test.add("spending-a", 1, 2)
    await test.shown(projector)
    await pool.query("update read.spent set sum = 1000")
    const broken = await projector.verify("spent", () => undefined)
    expect(broken.same).toBe(false)
    expect(broken.tables).toHaveLength(1)
    let isWriting = true
    const writer = (async () => {
      let written = 0
      while (isWriting) {
        await test.add("spending-a", 1)
        await test.add("other-a", 1)
        written += 1
        await pool.query("select 1")
      }
      return written
    })()
    for (let i = 0; i < 5; i += 1) await projector.rebuild("spent", () => undefined)
    isWriting = false
    const written = await writer
    expect(await test.shown(projector)).toBe(true)
    const facts = written + 2
    expect(await test.rows("spent")).toEqual([{ company_id: "a", sum: written + 3, facts }])
    expect((await projector.verify("spent", () => undefined)).same).toBe(true)
  })

  it("starts a stopped read model again, and loses nothing that came while it stood", async () => {
    const test = new ProjectorUnderTest(pool)
    let isBroken = true
    const gate = Promise.withResolvers<void>()
    let folds = 0
    const mended: Projection = {
      ...SPENT,
      apply: async (tx, facts, opener) => {
        if (isBroken) throw new Error("a bug")
        folds += 1
        if (folds === 1) await gate.promise
        await SPENT.apply(tx, facts, opener)
      },
    }
    const projector = await test.start([mended, EARNED])
    await test.add("spending-a", 1)
    expect(await test.shown(projector, "spent")).toBe(false)
    isBroken = false
    const rebuilding = projector.rebuild("spent", () => undefined)
    await expect.poll(() => folds).toBe(1)
    // Handed over and passed by, for the read model is stopped; the rebuild has read past it.
    await test.add("spending-a", 10)
    await test.add("earning-a", 1)
    await test.shown(projector, "earned")
    gate.resolve()
    await rebuilding
    expect(await test.shown(projector)).toBe(true)
    await test.add("spending-a", 100)
    expect(await test.shown(projector)).toBe(true)
    expect(await test.rows("spent")).toEqual([{ company_id: "a", sum: 111, facts: 3 }])
    expect(projector.status()[0]).toMatchObject({ state: "running", fault: null })
  })

  it("is at the head when it is done, though the last facts mean nothing to it", async () => {
    const test = new ProjectorUnderTest(pool)
    const projector = await test.start([SPENT])
    await test.add("spending-a", 1)
    await test.add("other-a", 1)
    await test.shown(projector)
    await projector.rebuild("spent", () => undefined)
    expect(await test.shown(projector)).toBe(true)
    expect((await test.stored("spent")).commit_position).toBe(1)
  })

  it("that meets a fact it cannot take leaves the live read model as it is", async () => {
    const test = new ProjectorUnderTest(pool)
    const projector = await test.start([SPENT])
    await test.add("spending-a", 1, "poison")
    await test.shown(projector)
    await expect(projector.rebuild("spent", () => undefined)).rejects.toThrow("has no amount")
    expect(await test.rows("spent")).toEqual([{ company_id: "a", sum: 1, facts: 1 }])
    expect(projector.status()[0]?.state).toBe("stopped")
    // What stands is still what folding up to there gives.
    expect((await projector.verify("spent", () => undefined)).same).toBe(true)
  })

  it("and comparisons of the same read model wait for one another", async () => {
    const test = new ProjectorUnderTest(pool)
    const projector = await test.start([SPENT])
    await test.add("spending-a", ...Array.from({ length: 300 }, () => 1))
    await test.shown(projector)
    const none = () => undefined
    const done = await Promise.all([
      projector.verify("spent", none),
      projector.rebuild("spent", none),
      projector.verify("spent", none),
      test.add("spending-a", 1),
      projector.verify("spent", none),
    ])
    expect([done[0].same, done[2].same, done[4].same]).toEqual([true, true, true])
  })

  it("of a read model without facts is empty and same", async () => {
    const test = new ProjectorUnderTest(pool)
    const projector = await test.start([SPENT])
    expect((await projector.verify("spent", () => undefined)).same).toBe(true)
    await projector.rebuild("spent", () => undefined)
    await test.add("spending-a", 1)
    expect(await test.shown(projector)).toBe(true)
    expect(await test.rows("spent")).toEqual([{ company_id: "a", sum: 1, facts: 1 }])
  })
})
