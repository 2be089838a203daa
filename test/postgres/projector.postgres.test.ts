import type pg from "pg"
import { describe, expect, it } from "vitest"
import { AccessDenied, NO_STREAM } from "../../adapters/eventstore/port.ts"
import { ReadModelAhead, checkReadModels } from "../../adapters/postgres/projector/joint-writer.ts"
import type { Projection } from "../../projections/kernel/projection.ts"
import {
  EARNED,
  SPENT,
  ProjectorUnderTest,
  readModelDatabase,
  sumReadModel,
  verifyReadModel,
} from "./projector-fixture.ts"
import { partialFake } from "../support/partial-fake.ts"

const { pool } = await readModelDatabase()

describe("a projector", () => {
  it("writes every fact once, in batches, each read model its own", async () => {
    const test = new ProjectorUnderTest(pool)
    await test.appendAmounts("spending-co_a", 1, 2)
    const projector = await test.start([SPENT, EARNED])
    await test.appendAmounts("spending-co_b", ...Array.from({ length: 2_500 }, () => 1))
    await test.appendAmounts("earning-co_a", 7)
    await test.appendAmounts("other", 1)
    expect(await test.waitUntilApplied(projector)).toBe(true)
    expect(await test.rows("spent")).toEqual([
      { company_id: "co_a", sum: 3, facts: 2 },
      { company_id: "co_b", sum: 2_500, facts: 2_500 },
    ])
    expect(await test.rows("earned")).toEqual([{ company_id: "co_a", sum: 7, facts: 1 }])
    expect(test.applied.filter((name) => name === "spent").length).toBeLessThan(10)
  })

  it("goes on where it stood after a restart, also past facts that meant nothing to it", async () => {
    const test = new ProjectorUnderTest(pool)
    const first = await test.start([SPENT])
    await test.appendAmounts("spending-co_a", 1)
    await test.appendAmounts("other-co_a", 1, 2, 3)
    await test.waitUntilApplied(first)
    await first.close()
    expect((await test.stored("spent")).commit_position).toBe(3)
    await test.appendAmounts("spending-co_a", 10)
    const second = await test.start([SPENT])
    expect(await test.waitUntilApplied(second)).toBe(true)
    expect(await test.rows("spent")).toEqual([{ company_id: "co_a", sum: 11, facts: 2 }])
  })

  it("answers false when the time runs out, and waits for the named read models only", async () => {
    const gate = Promise.withResolvers<void>()
    // Of a pace of its own it shares no transaction with the other one.
    const slow = {
      ...sumReadModel({ name: "slow", category: "spending", afterApply: () => gate.promise }),
      bufferMs: 1,
    }
    const test = new ProjectorUnderTest(pool)
    const projector = await test.start([SPENT, slow])
    await test.appendAmounts("spending-co_a", 1)
    expect(await test.waitUntilApplied(projector, "spent")).toBe(true)
    expect(await projector.waitUntilWritten(await test.store.head(), 1, ["slow"])).toBe(false)
    gate.resolve()
    expect(await test.waitUntilApplied(projector)).toBe(true)
  })

  it("builds a read model of another version anew, and never what is only a hint", async () => {
    const test = new ProjectorUnderTest(pool)
    const hint: Projection = {
      ...sumReadModel({ name: "hints", category: "spending" }),
      tables: [],
    }
    await pool.query(
      `create table read.hints (company_id text primary key, sum bigint, facts bigint)`,
    )
    await test.appendAmounts("spending-co_a", 1)
    const first = await test.start([SPENT], [hint])
    await test.waitUntilApplied(first)
    await first.close()
    await pool.query("update read.spent set sum = 100")
    const second = await test.start([{ ...SPENT, version: 2 }], [{ ...hint, version: 2 }])
    expect(await test.rows("spent")).toEqual([{ company_id: "co_a", sum: 1, facts: 1 }])
    await test.appendAmounts("spending-co_a", 10)
    expect(await test.waitUntilApplied(second)).toBe(true)
    expect(await test.rows("spent")).toEqual([{ company_id: "co_a", sum: 11, facts: 2 }])
    expect(await test.rows("hints")).toEqual([{ company_id: "co_a", sum: 11, facts: 2 }])
    expect(await second.status()).toMatchObject([{ name: "spent", version: 2 }, { name: "hints" }])
    expect(second.rebuildable).toEqual(["spent"])
    await expect(second.rebuild("hints", () => undefined)).rejects.toThrow(RangeError)
    await expect(verifyReadModel(second, "nothing")).rejects.toThrow(/Use one of: spent/)
  })

  it("refuses to start beyond the head of its store, and says what to do", async () => {
    const test = new ProjectorUnderTest(pool)
    const first = await test.start([SPENT])
    await test.appendAmounts("spending-co_a", 1)
    await test.waitUntilApplied(first)
    await first.close()
    const other = new ProjectorUnderTest(pool)
    await expect(other.start([SPENT])).rejects.toThrow(ReadModelAhead)
    await expect(other.start([SPENT])).rejects.toThrow(/delete from ledger.projections/)
    await pool.query("delete from ledger.projections")
    expect(await other.waitUntilApplied(await other.start([SPENT]))).toBe(true)
    expect(await test.rows("spent")).toEqual([])
  })
})

describe("a store that reaches as far, and is another one", () => {
  const seen = async () => {
    const test = new ProjectorUnderTest(pool)
    const first = await test.start([SPENT])
    await test.appendAmounts("spending-co_a", 1, 2)
    await test.waitUntilApplied(first)
    await first.close()
    return test
  }

  it.each<[string, (copy: ProjectorUnderTest) => Promise<void>]>([
    [
      "others have appended to an older copy",
      async (copy) => copy.appendAmounts("orders-1", 1, 2, 3),
    ],
    [
      "an older copy went on otherwise",
      async (copy) => copy.appendAmounts("spending-co_a", 1, 2, 3),
    ],
  ])("is refused where %s", async (_, grow) => {
    const test = await seen()
    const copy = new ProjectorUnderTest(pool)
    await grow(copy)
    await expect(checkReadModels(pool, copy.store)).rejects.toThrow(
      "The read model spent contains events that this event store does not have",
    )
    await checkReadModels(pool, test.store)
  })

  it("is not told from one whose stream is damaged, which is held back by itself", async () => {
    const test = await seen()
    await test.appendAmounts("earning-co_a", 3)
    test.store.rewriteStream("spending-co_a", ([, ...others]) => others)
    expect(await checkReadModels(pool, test.store)).toBeUndefined()
  })

  it("is not told from one that denies the stream", async () => {
    const test = await seen()
    const head = () => test.store.head()
    const read = () => {
      throw new AccessDenied("no")
    }
    expect(await checkReadModels(pool, { head, read })).toBeUndefined()
  })

  it("is found by an event that a read model passed over", async () => {
    const test = await seen()
    const again = await test.start([SPENT])
    await test.appendAmounts("earning-co_a", 5)
    await test.waitUntilApplied(again)
    await again.close()
    const copy = new ProjectorUnderTest(pool)
    for await (const events of test.store.readAll({ limit: 2 })) {
      await copy.store.append("spending-co_a", events, NO_STREAM)
    }
    await copy.appendAmounts("orders-1", 5)
    await expect(checkReadModels(pool, copy.store)).rejects.toThrow(ReadModelAhead)
  })
})

describe("a fact that cannot be taken", () => {
  it("stops the read model right before it, says where and why, and no other read model", async () => {
    const test = new ProjectorUnderTest(pool)
    const projector = await test.start([SPENT, EARNED])
    await test.appendAmounts("spending-co_a", 1, 2, "poison", 4)
    await test.appendAmounts("earning-co_a", 5)
    expect(await test.waitUntilApplied(projector)).toBe(false)
    expect(await test.waitUntilApplied(projector, "earned")).toBe(true)
    expect(await test.waitUntilApplied(projector, "spent")).toBe(false)
    expect(await test.rows("spent")).toEqual([{ company_id: "co_a", sum: 3, facts: 2 }])
    expect(await test.rows("earned")).toEqual([{ company_id: "co_a", sum: 5, facts: 1 }])
    const fault = "spending-co_a revision 2: this fact has no amount"
    expect(await projector.status()).toMatchObject([
      { name: "spent", state: "stopped", fault, behind: 0, position: { commit: 1n } },
      { name: "earned", state: "running", fault: null },
    ])
    expect((await test.stored("spent")).fault).toBe(fault)
    await test.appendAmounts("earning-co_a", 6)
    expect(await test.waitUntilApplied(projector, "earned")).toBe(true)
  })

  it("is tried again after a restart, and forgotten once it can be taken", async () => {
    const test = new ProjectorUnderTest(pool)
    const broken: Projection = { ...SPENT, apply: async () => Promise.reject(new Error("a bug")) }
    const first = await test.start([broken])
    await test.appendAmounts("spending-co_a", 1)
    expect(await test.waitUntilApplied(first)).toBe(false)
    await first.close()
    const second = await test.start([broken])
    await test.appendAmounts("spending-co_a", 2)
    expect(await test.waitUntilApplied(second)).toBe(false)
    expect((await second.status())[0]?.fault).toBe("spending-co_a revision 0: a bug")
    await second.close()
    const mended = await test.start([SPENT])
    expect(await test.waitUntilApplied(mended)).toBe(true)
    expect(await test.rows("spent")).toEqual([{ company_id: "co_a", sum: 3, facts: 2 }])
    expect((await test.stored("spent")).fault).toBeNull()
  })
})

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
  return partialFake<pg.Pool>({ connect, query: pool.query.bind(pool) })
}

describe("a batch whose connection breaks", () => {
  it("before its commit is written again, once", async () => {
    let kills = 3
    const killed = sumReadModel({
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
    await test.appendAmounts("spending-co_a", 1, 2, 3)
    await test.appendAmounts("earning-co_a", 5)
    expect(await test.waitUntilApplied(projector)).toBe(true)
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
      await test.appendAmounts("spending-co_a", amount)
      expect(await test.waitUntilApplied(projector)).toBe(true)
    }
    expect(losses).toBe(0)
    expect(await test.rows("spent")).toEqual([{ company_id: "co_a", sum: 10, facts: 4 }])
    expect((await test.stored("spent")).commit_position).toBe(3)
  })

  it("and that a crash of the server took back, is written again with what it lost", async () => {
    const test = new ProjectorUnderTest(pool)
    const projector = await test.start([SPENT, EARNED])
    await test.appendAmounts("spending-co_a", 1)
    await test.waitUntilApplied(projector)
    await test.appendAmounts("spending-co_a", 10)
    await test.appendAmounts("earning-co_a", 5)
    await test.appendAmounts("spending-co_a", 100)
    await test.waitUntilApplied(projector)
    await pool.query("update read.spent set sum = 1, facts = 1")
    await pool.query(
      "update ledger.projections set commit_position = 0, prepare_position = 0 where name = 'spent'",
    )
    await test.appendAmounts("spending-co_a", 1_000)
    await test.appendAmounts("earning-co_a", 1)
    expect(await test.waitUntilApplied(projector)).toBe(true)
    expect(await test.rows("spent")).toEqual([{ company_id: "co_a", sum: 1_111, facts: 4 }])
    expect(await test.rows("earned")).toEqual([{ company_id: "co_a", sum: 6, facts: 2 }])
    expect(test.warnings).toEqual([
      "the position of read model spent moved back; it continues from there",
    ])
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
    await test.appendAmounts("spending-co_a", 1)
    const waiting = test.waitUntilApplied(projector)
    await expect.poll(() => test.warnings.length).toBeGreaterThan(0)
    await projector.close()
    expect(await waiting).toBe(false)
    const next = await test.start([SPENT])
    expect(await test.waitUntilApplied(next)).toBe(true)
    expect(await test.rows("spent")).toEqual([{ company_id: "co_a", sum: 1, facts: 1 }])
  })

  it("is written once where two processes run the same read model", async () => {
    const test = new ProjectorUnderTest(pool)
    const both = [await test.start([SPENT]), await test.start([SPENT])]
    for (let i = 0; i < 50; i += 1) await test.appendAmounts(`spending-${i % 3}`, 1, 1)
    await test.appendAmounts("other-co_a", 1)
    expect(await Promise.all(both.map((one) => test.waitUntilApplied(one)))).toEqual([true, true])
    const rows = await test.rows("spent")
    expect(rows.reduce((sum, row) => sum + row.facts, 0)).toBe(100)
  })
})
