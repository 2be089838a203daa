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
  it("writes every fact once to its read model, in batches", async () => {
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

  it("continues at its position after a restart, even after facts of other categories", async () => {
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

  it("waits only for the named read models, and returns false on a timeout", async () => {
    const gate = Promise.withResolvers<void>()
    // With its own buffer time it shares no transaction with the other one.
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

  it("rebuilds a read model of another version, but never a job projection", async () => {
    const test = new ProjectorUnderTest(pool)
    const jobProjection: Projection = {
      ...sumReadModel({ name: "job_rows", category: "spending" }),
      tables: [],
    }
    await pool.query(
      `create table read.job_rows (company_id text primary key, sum bigint, facts bigint)`,
    )
    await test.appendAmounts("spending-co_a", 1)
    const first = await test.start([SPENT], [jobProjection])
    await test.waitUntilApplied(first)
    await first.close()
    await pool.query("update read.spent set sum = 100")
    const second = await test.start([{ ...SPENT, version: 2 }], [{ ...jobProjection, version: 2 }])
    expect(await test.rows("spent")).toEqual([{ company_id: "co_a", sum: 1, facts: 1 }])
    await test.appendAmounts("spending-co_a", 10)
    expect(await test.waitUntilApplied(second)).toBe(true)
    expect(await test.rows("spent")).toEqual([{ company_id: "co_a", sum: 11, facts: 2 }])
    expect(await test.rows("job_rows")).toEqual([{ company_id: "co_a", sum: 11, facts: 2 }])
    expect(await second.status()).toMatchObject([
      { name: "spent", version: 2 },
      { name: "job_rows" },
    ])
    expect(second.rebuildable).toEqual(["spent"])
    await expect(second.rebuild("job_rows", () => undefined)).rejects.toThrow(RangeError)
    await expect(verifyReadModel(second, "nothing")).rejects.toThrow(/Use one of: spent/)
  })

  it("rejects a start if a read model is ahead of the store, with the fix", async () => {
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

describe("another store with as many events", () => {
  const projectedStore = async () => {
    const test = new ProjectorUnderTest(pool)
    const first = await test.start([SPENT])
    await test.appendAmounts("spending-co_a", 1, 2)
    await test.waitUntilApplied(first)
    await first.close()
    return test
  }

  it.each<[string, (copy: ProjectorUnderTest) => Promise<void>]>([
    [
      "is an older copy with events of other programs",
      async (copy) => copy.appendAmounts("orders-1", 1, 2, 3),
    ],
    [
      "is an older copy with other newer events",
      async (copy) => copy.appendAmounts("spending-co_a", 1, 2, 3),
    ],
  ])("is rejected if it %s", async (_, grow) => {
    const test = await projectedStore()
    const copy = new ProjectorUnderTest(pool)
    await grow(copy)
    await expect(checkReadModels(pool, copy.store)).rejects.toThrow(
      "The read model spent contains events that this event store does not have",
    )
    await checkReadModels(pool, test.store)
  })

  it("is not suspected if a stream is corrupt, which is held back anyway", async () => {
    const test = await projectedStore()
    await test.appendAmounts("earning-co_a", 3)
    test.store.rewriteStream("spending-co_a", ([, ...others]) => others)
    expect(await checkReadModels(pool, test.store)).toBeUndefined()
  })

  it("is not suspected if the store denies access to the stream", async () => {
    const test = await projectedStore()
    const head = () => test.store.head()
    const read = () => {
      throw new AccessDenied("no")
    }
    expect(await checkReadModels(pool, { head, read })).toBeUndefined()
  })

  it("is detected by an event that the read model skipped", async () => {
    const test = await projectedStore()
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

describe("an invalid fact", () => {
  it("stops only its read model, right before the fact, and is reported with its revision", async () => {
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

  it("is retried after a restart, and its fault is cleared once it succeeds", async () => {
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
    const fixed = await test.start([SPENT])
    expect(await test.waitUntilApplied(fixed)).toBe(true)
    expect(await test.rows("spent")).toEqual([{ company_id: "co_a", sum: 3, facts: 2 }])
    expect((await test.stored("spent")).fault).toBeNull()
  })
})

/** A pool whose statements a test can intercept; null executes the statement. */
function interceptedPool(
  intercept: (text: string, run: () => Promise<unknown>) => Promise<unknown> | null,
) {
  const connect = async () => {
    const client = await pool.connect()
    const query = (...given: [string | pg.QueryConfig, unknown[]?]) => {
      const text = typeof given[0] === "string" ? given[0] : given[0].text
      return intercept(text, () => client.query(...given)) ?? client.query(...given)
    }
    return { query, release: (broken?: boolean) => client.release(broken) }
  }
  return partialFake<pg.Pool>({ connect, query: pool.query.bind(pool) })
}

describe("a batch whose connection breaks", () => {
  it("before its commit is written again once", async () => {
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

  it("after its commit is not written again", async () => {
    let losses = 0
    const lossy = interceptedPool((text, run) => {
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

  it("is written again if a crash of the server lost its commit", async () => {
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

  it("does not delay a projector that closes while the database is unreachable", async () => {
    let isUnreachable = false
    const unreachable = interceptedPool((text) =>
      isUnreachable && text.startsWith("begin")
        ? Promise.reject(new Error("Connection terminated"))
        : null,
    )
    const test = new ProjectorUnderTest(pool)
    const projector = await test.start([SPENT], [], { pool: unreachable })
    isUnreachable = true
    await test.appendAmounts("spending-co_a", 1)
    const waiting = test.waitUntilApplied(projector)
    await expect.poll(() => test.warnings.length).toBeGreaterThan(0)
    await projector.close()
    expect(await waiting).toBe(false)
    const next = await test.start([SPENT])
    expect(await test.waitUntilApplied(next)).toBe(true)
    expect(await test.rows("spent")).toEqual([{ company_id: "co_a", sum: 1, facts: 1 }])
  })

  it("is written once if two processes run the same read model", async () => {
    const test = new ProjectorUnderTest(pool)
    const both = [await test.start([SPENT]), await test.start([SPENT])]
    for (let i = 0; i < 50; i += 1) await test.appendAmounts(`spending-${i % 3}`, 1, 1)
    await test.appendAmounts("other-co_a", 1)
    expect(await Promise.all(both.map((one) => test.waitUntilApplied(one)))).toEqual([true, true])
    const rows = await test.rows("spent")
    expect(rows.reduce((sum, row) => sum + row.facts, 0)).toBe(100)
  })
})
