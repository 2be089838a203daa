/** Read models with several processes: one process updates each, the others are ready to take over. */
import { describe, expect, it, onTestFinished } from "vitest"
import type { Projection } from "../../projections/kernel/projection.ts"
import type { RegisteredProcess } from "../../adapters/postgres/leases/postgres.ts"
import { registerProcess } from "../../adapters/postgres/leases/postgres.ts"
import { cuttableConnection } from "../support/cuttable-connection.ts"
import {
  EARNED,
  SPENT,
  ProjectorUnderTest,
  readModelDatabase,
  verifyReadModel,
} from "./projector-fixture.ts"

const { database, pool } = await readModelDatabase(40)
const SOON = { interval: 10 }
const none = () => undefined

async function register(url = database.url): Promise<RegisteredProcess> {
  const process = await registerProcess(url, none)
  onTestFinished(() => process.close())
  return process
}

/** Starts a projector as a separate process, whose connection for leases can be broken. */
async function start(test: ProjectorUnderTest, ...projections: readonly Projection[]) {
  const connection = await cuttableConnection(database.url)
  const leases = await register(connection.url)
  const projector = await test.start(projections, [], { leases })
  const here = async () =>
    (await projector.status()).filter((one) => one.here).map(({ name }) => name)
  return { projector, connection, here }
}

describe("a read model with multiple processes", () => {
  it("is updated by one process, and all can wait for it and read it", async () => {
    const test = new ProjectorUnderTest(pool)
    const [one, two] = [await start(test, SPENT, EARNED), await start(test, SPENT, EARNED)]
    expect([await one.here(), await two.here()]).toEqual([["spent", "earned"], []])
    for (let i = 1; i <= 20; i += 1) {
      await test.appendAmounts("spending-co_a", 1)
      expect(await test.waitUntilApplied(two.projector)).toBe(true)
      expect(await test.rows("spent")).toEqual([{ company_id: "co_a", sum: i, facts: i }])
    }
    // This fact does not move the stored position; each process knows that it concerns no read model.
    await test.appendAmounts("other-co_a", 1)
    expect(await test.waitUntilApplied(two.projector)).toBe(true)
    expect((await test.stored("spent")).commit_position).toBe(19)
    const [status] = await two.projector.status()
    expect(status).toMatchObject({ name: "spent", here: false, state: "running" })
    expect(status?.position.commit).toBe(20n)
  })

  it("makes a wait time out if no process updates it", async () => {
    const test = new ProjectorUnderTest(pool)
    const noLeases = { request: async () => ({ release: async () => undefined }) }
    const projector = await test.start([SPENT], [], { leases: noLeases })
    await test.appendAmounts("other-co_a", 1)
    expect(await test.waitUntilApplied(projector)).toBe(true)
    await test.appendAmounts("spending-co_a", 1)
    expect(await projector.waitUntilWritten(await test.store.head(), 30)).toBe(false)
    expect(await test.rows("spent")).toEqual([])
  })

  it("is taken over by another process when the first one stops or loses its connection", async () => {
    const test = new ProjectorUnderTest(pool)
    const [one, two, three] = [
      await start(test, SPENT),
      await start(test, SPENT),
      await start(test, SPENT),
    ]
    await test.appendAmounts("spending-co_a", 1)
    await one.projector.close()
    await test.appendAmounts("spending-co_a", 10)
    expect(await test.waitUntilApplied(two.projector)).toBe(true)
    const isTwo = (await two.here()).length === 1
    const [holder, other] = isTwo ? [two, three] : [three, two]
    expect([await holder.here(), await other.here()]).toEqual([["spent"], []])
    holder.connection.setOpen(false)
    await test.appendAmounts("spending-co_a", 100)
    expect(await test.waitUntilApplied(other.projector)).toBe(true)
    expect(await test.rows("spent")).toEqual([{ company_id: "co_a", sum: 111, facts: 3 }])
    await expect.poll(other.here, SOON).toEqual(["spent"])
    expect(await holder.here()).toEqual([])
  })

  it("misses no fact and writes none twice while processes take it over under load", async () => {
    const test = new ProjectorUnderTest(pool)
    const all = [await start(test, SPENT), await start(test, SPENT), await start(test, SPENT)]
    let facts = 0
    for (let round = 0; round < 12; round += 1) {
      const connection = all[round % 3]?.connection
      const breaking = (async () => {
        connection?.setOpen(false)
        await test.appendAmounts(`spending-${round % 2}`, 1, 1)
        connection?.setOpen(true)
      })()
      for (let i = 0; i < 10; i += 1) {
        await test.appendAmounts("spending-co_c", 1)
        await test.appendAmounts("other-co_c", 1)
        facts += 1
      }
      await breaking
      facts += 2
      expect(await test.waitUntilApplied((all[(round + 1) % 3] as (typeof all)[0]).projector)).toBe(
        true,
      )
      const rows = await test.rows("spent")
      expect(rows.reduce((sum, row) => sum + row.facts, 0)).toBe(facts)
    }
    expect((await verifyReadModel(all[0]?.projector))?.same).toBe(true)
  })

  it("is taken over from the position that a crash of the server restored", async () => {
    const test = new ProjectorUnderTest(pool)
    const [one, two] = [await start(test, SPENT), await start(test, SPENT)]
    await test.appendAmounts("spending-co_a", 1)
    await test.appendAmounts("spending-co_a", 10)
    await test.waitUntilApplied(two.projector)
    await one.projector.close()
    await expect.poll(two.here, SOON).toEqual(["spent"])
    const three = await start(test, SPENT)
    await test.waitUntilApplied(three.projector)
    // Simulates a crash that loses the last commit, which both processes have seen.
    await pool.query("update read.spent set sum = 1, facts = 1")
    await pool.query("update ledger.projections set commit_position = 0, prepare_position = 0")
    await two.projector.close()
    await expect.poll(three.here, SOON).toEqual(["spent"])
    await expect
      .poll(() => test.rows("spent"), SOON)
      .toEqual([{ company_id: "co_a", sum: 11, facts: 2 }])
  })

  it("is created once by processes that start concurrently", async () => {
    const test = new ProjectorUnderTest(pool)
    await test.appendAmounts("spending-co_a", 1)
    const all = await Promise.all(Array.from({ length: 4 }, () => start(test, SPENT, EARNED)))
    for (const { projector } of all) expect(await test.waitUntilApplied(projector)).toBe(true)
    const here = await Promise.all(all.map((one) => one.here()))
    expect(here.flat().toSorted()).toEqual(["earned", "spent"])
    expect(await test.rows("spent")).toEqual([{ company_id: "co_a", sum: 1, facts: 1 }])
  })

  it("of another version is written by the processes of that version only", async () => {
    const test = new ProjectorUnderTest(pool)
    const old = await start(test, SPENT)
    await test.appendAmounts("spending-co_a", 1)
    await test.waitUntilApplied(old.projector)
    const newer = await start(test, { ...SPENT, version: 2 })
    await test.appendAmounts("spending-co_a", 10)
    await expect
      .poll(async () => (await old.projector.status())[0]?.fault, SOON)
      .toBe("another version of this program writes it")
    expect(await test.waitUntilApplied(newer.projector)).toBe(true)
    expect(await test.rows("spent")).toEqual([{ company_id: "co_a", sum: 11, facts: 2 }])
    expect(await verifyReadModel(old.projector)).toMatchObject({
      same: false,
      fault: "another version of this program writes it",
    })
    await old.projector.close()
  })
})

describe("from a process that does not update it", () => {
  it("a read model can be verified and rebuilt while facts are written", async () => {
    const test = new ProjectorUnderTest(pool)
    const [one, two] = [await start(test, SPENT), await start(test, SPENT)]
    await test.appendAmounts("spending-co_a", 1, 2)
    await test.waitUntilApplied(one.projector)
    await pool.query("update read.spent set sum = 1000")
    expect((await verifyReadModel(two.projector))?.same).toBe(false)
    let isWriting = true
    const writer = (async () => {
      for (let i = 0; i < 100; i += 1) {
        await test.appendAmounts("spending-co_a", 1)
        await pool.query("select 1")
      }
      isWriting = false
    })()
    while (isWriting) {
      await Promise.all([
        two.projector.rebuild("spent", none),
        verifyReadModel(one.projector),
        verifyReadModel(two.projector),
      ])
    }
    await writer
    expect(await test.waitUntilApplied(two.projector)).toBe(true)
    expect(await test.rows("spent")).toEqual([{ company_id: "co_a", sum: 103, facts: 102 }])
    expect((await verifyReadModel(one.projector))?.same).toBe(true)
    expect(await one.here()).toEqual(["spent"])
  })

  it("a stopped read model can be rebuilt, and continues in the process that updates it", async () => {
    const test = new ProjectorUnderTest(pool)
    let isBroken = true
    const repairable: Projection = {
      ...SPENT,
      apply: async (tx, facts, opener) => {
        if (isBroken) throw new Error("a bug")
        await SPENT.apply(tx, facts, opener)
      },
    }
    const [one, two] = [await start(test, repairable), await start(test, repairable)]
    await test.appendAmounts("spending-co_a", 1)
    expect(await test.waitUntilApplied(two.projector)).toBe(false)
    expect((await two.projector.status())[0]).toMatchObject({
      state: "stopped",
      fault: "spending-co_a revision 0: a bug",
    })
    await test.appendAmounts("spending-co_a", 10)
    isBroken = false
    await two.projector.rebuild("spent", none)
    await test.appendAmounts("spending-co_a", 100)
    await expect.poll(() => test.waitUntilApplied(two.projector), SOON).toBe(true)
    expect(await test.rows("spent")).toEqual([{ company_id: "co_a", sum: 111, facts: 3 }])
    expect(await one.here()).toEqual(["spent"])
    expect((await two.projector.status())[0]).toMatchObject({ state: "running", fault: null })
  })
})
