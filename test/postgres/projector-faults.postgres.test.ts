import type pg from "pg"
import { describe, expect, it } from "vitest"
import { EARNED, SPENT, ProjectorUnderTest, readModelDatabase, sums } from "./projector-fixture.ts"

const { pool } = await readModelDatabase()

/** A pool on whose connections a test answers for the driver: null lets a statement pass. */
function poolThat(
  interferes: (text: string, run: () => Promise<unknown>) => Promise<unknown> | null,
) {
  const connect = async () => {
    const client = await pool.connect()
    const query = (...given: [string | pg.QueryConfig, unknown[]?]) => {
      const text = typeof given[0] === "string" ? given[0] : given[0].text
      return interferes(text, () => client.query(...given)) ?? client.query(...given)
    }
    return { query, release: (broken?: boolean) => client.release(broken) }
  }
  return { connect, query: pool.query.bind(pool) } as unknown as pg.Pool
}

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
    await test.add("spending-co_a", 1, 2, 3)
    await test.add("earning-co_a", 5)
    expect(await test.shown(projector)).toBe(true)
    expect(await test.rows("spent")).toEqual([{ company_id: "co_a", sum: 6, facts: 3 }])
    expect(test.warnings).toContain("read model spent waits for the database")
    expect(await projector.status()).toMatchObject([{ state: "running" }, { state: "running" }])
  })

  it("after its commit, with the answer lost, is not written again", async () => {
    let losses = 0
    const lossy = poolThat((text, run) => {
      if (text !== "commit" || losses === 0) return null
      losses -= 1
      return run().then(() => Promise.reject(new Error("Connection terminated unexpectedly")))
    })
    const test = new ProjectorUnderTest(pool)
    const projector = await test.start([SPENT], [], { pool: lossy })
    losses = 3
    for (const amount of [1, 2, 3, 4]) {
      await test.add("spending-co_a", amount)
      expect(await test.shown(projector)).toBe(true)
    }
    expect(losses).toBe(0)
    expect(await test.rows("spent")).toEqual([{ company_id: "co_a", sum: 10, facts: 4 }])
    expect((await test.stored("spent")).commit_position).toBe(3)
  })

  it("and that a crash of the server took back, is written again with what it lost", async () => {
    const test = new ProjectorUnderTest(pool)
    const projector = await test.start([SPENT, EARNED])
    await test.add("spending-co_a", 1)
    await test.shown(projector)
    await test.add("spending-co_a", 10)
    await test.add("earning-co_a", 5)
    await test.add("spending-co_a", 100)
    await test.shown(projector)
    await pool.query("update read.spent set sum = 1, facts = 1")
    await pool.query(
      "update ledger.projections set commit_position = 0, prepare_position = 0 where name = 'spent'",
    )
    await test.add("spending-co_a", 1_000)
    await test.add("earning-co_a", 1)
    expect(await test.shown(projector)).toBe(true)
    expect(await test.rows("spent")).toEqual([{ company_id: "co_a", sum: 1_111, facts: 4 }])
    expect(await test.rows("earned")).toEqual([{ company_id: "co_a", sum: 6, facts: 2 }])
    expect(test.warnings).toEqual(["read model spent was set back, and goes on from there"])
  })

  it("does not hold up a projector that closes while the database is away", async () => {
    let isAway = false
    const away = poolThat((text) =>
      isAway && text.startsWith("begin")
        ? Promise.reject(new Error("Connection terminated"))
        : null,
    )
    const test = new ProjectorUnderTest(pool)
    const projector = await test.start([SPENT], [], { pool: away })
    isAway = true
    await test.add("spending-co_a", 1)
    const waiting = test.shown(projector)
    await expect.poll(() => test.warnings.length).toBeGreaterThan(0)
    await projector.close()
    expect(await waiting).toBe(false)
    const next = await test.start([SPENT])
    expect(await test.shown(next)).toBe(true)
    expect(await test.rows("spent")).toEqual([{ company_id: "co_a", sum: 1, facts: 1 }])
  })

  it("is written once where two processes run the same read model", async () => {
    const test = new ProjectorUnderTest(pool)
    const both = [await test.start([SPENT]), await test.start([SPENT])]
    for (let i = 0; i < 50; i += 1) await test.add(`spending-${i % 3}`, 1, 1)
    await test.add("other-co_a", 1)
    expect(await Promise.all(both.map((one) => test.shown(one)))).toEqual([true, true])
    const rows = await test.rows("spent")
    expect(rows.reduce((sum, row) => sum + row.facts, 0)).toBe(100)
  })
})
