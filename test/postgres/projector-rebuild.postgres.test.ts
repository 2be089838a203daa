import { describe, expect, it } from "vitest"
import type { Projection } from "../../projections/kernel/projection.ts"
import {
  EARNED,
  SPENT,
  ProjectorUnderTest,
  readModelDatabase,
  verifyReadModel,
} from "./projector-fixture.ts"

const { pool } = await readModelDatabase()

describe("a rebuild", () => {
  it("repairs a read model while facts are written", async () => {
    const test = new ProjectorUnderTest(pool)
    const projector = await test.start([SPENT, EARNED])
    await test.appendAmounts("spending-co_a", 1, 2)
    await test.waitUntilApplied(projector)
    await pool.query("update read.spent set sum = 1000")
    const broken = await verifyReadModel(projector)
    expect(broken?.same).toBe(false)
    expect(broken?.tables).toHaveLength(1)
    const written = 150
    let isWriting = true
    const writer = (async () => {
      for (let i = 0; i < written; i += 1) {
        await test.appendAmounts("spending-co_a", 1)
        await test.appendAmounts("other-co_a", 1)
        await pool.query("select 1")
      }
      isWriting = false
    })()
    while (isWriting) await projector.rebuild("spent", () => undefined)
    await writer
    expect(await test.waitUntilApplied(projector)).toBe(true)
    const facts = written + 2
    expect(await test.rows("spent")).toEqual([{ company_id: "co_a", sum: written + 3, facts }])
    expect((await verifyReadModel(projector))?.same).toBe(true)
  })

  it("starts a stopped read model again, and loses no fact that was written meanwhile", async () => {
    const test = new ProjectorUnderTest(pool)
    let isBroken = true
    const gate = Promise.withResolvers<void>()
    let folds = 0
    const repairable: Projection = {
      ...SPENT,
      apply: async (tx, facts, opener) => {
        if (isBroken) throw new Error("a bug")
        folds += 1
        if (folds === 1) await gate.promise
        await SPENT.apply(tx, facts, opener)
      },
    }
    const projector = await test.start([repairable, EARNED])
    await test.appendAmounts("spending-co_a", 1)
    expect(await test.waitUntilApplied(projector, "spent")).toBe(false)
    isBroken = false
    const rebuilding = projector.rebuild("spent", () => undefined)
    await expect.poll(() => folds).toBe(1)
    // The stopped read model skips this fact, and the rebuild has already read past its position.
    await test.appendAmounts("spending-co_a", 10)
    await test.appendAmounts("earning-co_a", 1)
    await test.waitUntilApplied(projector, "earned")
    gate.resolve()
    await rebuilding
    expect(await test.waitUntilApplied(projector)).toBe(true)
    await test.appendAmounts("spending-co_a", 100)
    expect(await test.waitUntilApplied(projector)).toBe(true)
    expect(await test.rows("spent")).toEqual([{ company_id: "co_a", sum: 111, facts: 3 }])
    expect((await projector.status())[0]).toMatchObject({ state: "running", fault: null })
  })

  it("ends at the head even if the last facts are of other categories", async () => {
    const test = new ProjectorUnderTest(pool)
    const projector = await test.start([SPENT])
    await test.appendAmounts("spending-co_a", 1)
    await test.appendAmounts("other-co_a", 1)
    await test.waitUntilApplied(projector)
    await projector.rebuild("spent", () => undefined)
    expect(await test.waitUntilApplied(projector)).toBe(true)
    expect((await test.stored("spent")).commit_position).toBe(1)
  })

  it("that meets an invalid fact does not change the live read model", async () => {
    const test = new ProjectorUnderTest(pool)
    const projector = await test.start([SPENT])
    await test.appendAmounts("spending-co_a", 1, "poison")
    await test.waitUntilApplied(projector)
    await expect(projector.rebuild("spent", () => undefined)).rejects.toThrow("has no amount")
    expect(await test.rows("spent")).toEqual([{ company_id: "co_a", sum: 1, facts: 1 }])
    expect((await projector.status())[0]?.state).toBe("stopped")
    // The rows still equal a rebuild up to the invalid fact.
    expect((await verifyReadModel(projector))?.same).toBe(true)
  })

  it("and verifications of the same read model wait for each other", async () => {
    const test = new ProjectorUnderTest(pool)
    const projector = await test.start([SPENT])
    await test.appendAmounts("spending-co_a", ...Array.from({ length: 300 }, () => 1))
    await test.waitUntilApplied(projector)
    const none = () => undefined
    const done = await Promise.all([
      verifyReadModel(projector),
      projector.rebuild("spent", none),
      verifyReadModel(projector),
      test.appendAmounts("spending-co_a", 1),
      verifyReadModel(projector),
    ])
    expect([done[0]?.same, done[2]?.same, done[4]?.same]).toEqual([true, true, true])
  })

  it("of a read model without facts is empty, and equals the live one", async () => {
    const test = new ProjectorUnderTest(pool)
    const projector = await test.start([SPENT])
    expect((await verifyReadModel(projector))?.same).toBe(true)
    await projector.rebuild("spent", () => undefined)
    await test.appendAmounts("spending-co_a", 1)
    expect(await test.waitUntilApplied(projector)).toBe(true)
    expect(await test.rows("spent")).toEqual([{ company_id: "co_a", sum: 1, facts: 1 }])
  })
})

describe("a start with another version of a read model", () => {
  it("keeps the former version up to date until the new one is complete", async () => {
    const test = new ProjectorUnderTest(pool)
    const old = await test.start([SPENT])
    await test.appendAmounts("spending-co_a", 1)
    await test.waitUntilApplied(old)
    const [begun, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const starting = test.start([
      {
        ...SPENT,
        version: 2,
        apply: async (tx, facts, opener) => {
          begun.resolve()
          await gate.promise
          await SPENT.apply(tx, facts, opener)
        },
      },
    ])
    await begun.promise
    await test.appendAmounts("spending-co_a", 10)
    expect(await test.waitUntilApplied(old)).toBe(true)
    expect(await test.rows("spent")).toEqual([{ company_id: "co_a", sum: 11, facts: 2 }])
    gate.resolve()
    const updated = await starting
    expect(await test.rows("spent")).toEqual([{ company_id: "co_a", sum: 11, facts: 2 }])
    await old.close()
    await test.appendAmounts("spending-co_a", 100)
    expect(await test.waitUntilApplied(updated)).toBe(true)
    expect(await test.rows("spent")).toEqual([{ company_id: "co_a", sum: 111, facts: 3 }])
  })

  it("rebuilds it once when multiple processes start concurrently", async () => {
    const test = new ProjectorUnderTest(pool)
    const old = await test.start([SPENT])
    await test.appendAmounts("spending-co_a", 1)
    await test.waitUntilApplied(old)
    await old.close()
    const newer = { ...SPENT, version: 2 }
    const [one] = await Promise.all([test.start([newer]), test.start([newer])])
    expect(await test.waitUntilApplied(one)).toBe(true)
    expect(test.rebuilt).toEqual(["spent"])
    expect(await test.rows("spent")).toEqual([{ company_id: "co_a", sum: 1, facts: 1 }])
  })

  it("continues an interrupted start with the read models that were not rebuilt", async () => {
    const test = new ProjectorUnderTest(pool)
    const old = await test.start([SPENT, EARNED])
    await test.appendAmounts("spending-co_a", 1)
    await test.appendAmounts("earning-co_a", 2)
    await test.waitUntilApplied(old)
    await old.close()
    const [spent, earned] = [SPENT, EARNED].map((one) => ({ ...one, version: 2 }))
    const ended = Object.assign(new Error("the connection was ended"), { code: "57P01" })
    const interrupted = { ...(earned as Projection), apply: () => Promise.reject(ended) }
    await expect(test.start([spent as Projection, interrupted])).rejects.toThrow(ended)
    expect(test.rebuilt).toEqual(["spent"])
    const projector = await test.start([spent as Projection, earned as Projection])
    expect(test.rebuilt).toEqual(["spent", "earned"])
    expect(await test.waitUntilApplied(projector)).toBe(true)
    expect(await test.rows("earned")).toEqual([{ company_id: "co_a", sum: 2, facts: 1 }])
  })

  it("projects all facts up to one that the new version rejects", async () => {
    const test = new ProjectorUnderTest(pool)
    const lenient: Projection = { ...SPENT, apply: async () => undefined }
    const old = await test.start([lenient, EARNED])
    await test.appendAmounts("spending-co_a", 1, "poison", 2)
    await test.appendAmounts("earning-co_a", 1)
    await test.waitUntilApplied(old)
    await old.close()
    const projector = await test.start([{ ...SPENT, version: 2 }, EARNED])
    await test.appendAmounts("earning-co_a", 1)
    expect(await test.waitUntilApplied(projector, "earned")).toBe(true)
    expect(await test.waitUntilApplied(projector, "spent")).toBe(false)
    expect(await test.rows("spent")).toEqual([{ company_id: "co_a", sum: 1, facts: 1 }])
    expect(await projector.status()).toMatchObject([
      {
        name: "spent",
        version: 2,
        state: "stopped",
        fault: "spending-co_a revision 1: this fact has no amount",
      },
      { name: "earned", state: "running" },
    ])
  })
})
