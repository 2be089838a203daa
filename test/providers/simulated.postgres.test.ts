/** The records of simulators in PostgreSQL. */
import { beforeEach, describe, expect, it } from "vitest"
import { openPostgresErasure } from "../../adapters/postgres/erasure/postgres.ts"
import type {
  SimulatedRecordKind,
  SimulatedRecords,
} from "../../adapters/providers/simulators/port.ts"
import { openSimulatorStore } from "../../adapters/providers/simulators/postgres-simulators.ts"
import { machinePacer } from "../../adapters/machine/clock/database-clock.ts"
import { databaseUnderTest } from "../postgres/database-under-test.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"

const COMPANY = "co_aaaaaa"
const OTHER = "co_bbbbbb"
const NOW = Date.UTC(2031, 4, 6, 7, 8, 9, 123)
const TEXT: SimulatedRecordKind = { provider: "carrier", kind: "text" }

interface Count {
  readonly count: number
}

const database = await databaseUnderTest()
const pool = database.pool()
let now: number
let texts: SimulatedRecords<Count>

/** The records as a new process reads them, without any memory of its own. */
const open = (kind = TEXT) =>
  openSimulatorStore({ pool, clock: { now: () => now } }).recordsOf<Count>(kind)

beforeEach(async () => {
  await pool.query("truncate ledger.simulated_records")
  now = NOW
  texts = open()
})

const stored = async () =>
  (
    await pool.query<{ row: string }>(
      "select xmin::text || s::text as row from ledger.simulated_records s",
    )
  ).rows

describe("an inserted record", () => {
  it("stays as it was first inserted, even if another process inserts it again", async () => {
    expect(await texts.find("a")).toBeNull()
    expect(await texts.insertIfAbsent("a", COMPANY, { count: 1 })).toEqual({ count: 1 })
    expect(await open().insertIfAbsent("a", COMPANY, { count: 2 })).toEqual({ count: 1 })
    expect(await texts.find("a")).toEqual({ count: 1 })
  })

  it("is the same for processes that insert it concurrently", async () => {
    const processes = Array.from({ length: 6 }, () => open())
    const names = Array.from({ length: 40 }, (_, i) => `record ${i}`)
    const inserted = await Promise.all(
      processes.map((one, count) =>
        Promise.all(names.map((name) => one.insertIfAbsent(name, COMPANY, { count }))),
      ),
    )
    for (const seen of inserted) expect(seen).toEqual(inserted[0])
    expect(await texts.listNewest(null, 100)).toHaveLength(names.length)
  })

  it("is the same if one process inserts it twice concurrently, together with others", async () => {
    await texts.insertIfAbsent("old", COMPANY, { count: 1 })
    const names = ["new", "old", "new", "other"]
    const inserted = await Promise.all(
      names.map((name, i) => texts.insertIfAbsent(name, COMPANY, { count: 10 + i })),
    )
    expect(inserted.map(({ count }) => count)).toEqual([10, 1, 10, 13])
    expect(await texts.find("new")).toEqual({ count: 10 })
  })

  it("is separate from a record of the same name and another kind", async () => {
    await texts.insertIfAbsent("a", COMPANY, { count: 1 })
    const mails = open({ provider: "mail", kind: "mail" })
    expect(await mails.find("a")).toBeNull()
    expect(await mails.insertIfAbsent("a", COMPANY, { count: 2 })).toEqual({ count: 2 })
    await mails.remove("a")
    expect(await mails.listNewest(null, 10)).toEqual([])
    expect(await texts.find("a")).toEqual({ count: 1 })
  })
})

describe("an updated record", () => {
  it("is computed from the current record, or from null if there is none", async () => {
    const raise = (known: Count | null) => ({ count: (known?.count ?? 0) + 1 })
    expect(await texts.update("a", COMPANY, raise)).toEqual({ count: 1 })
    expect(await texts.update("a", COMPANY, raise)).toEqual({ count: 2 })
    expect(await open().find("a")).toEqual({ count: 2 })
  })

  it("loses no update of many concurrent ones", async () => {
    const processes = Array.from({ length: 4 }, () => open())
    const raise = (known: Count | null) => ({ count: (known?.count ?? 0) + 1 })
    await Promise.all(
      Array.from({ length: 40 }, (_, i) => processes[i % 4]?.update("a", COMPANY, raise)),
    )
    expect(await texts.find("a")).toEqual({ count: 40 })
  })

  it("is not written if it does not change", async () => {
    await texts.insertIfAbsent("a", COMPANY, { count: 1 })
    const before = await stored()
    expect(await texts.update("a", COMPANY, (known) => known ?? { count: 9 })).toEqual({ count: 1 })
    expect(await stored()).toEqual(before)
  })

  it("keeps its time and its order", async () => {
    for (const name of ["a", "b"]) await texts.insertIfAbsent(name, COMPANY, { count: 1 })
    now += 1_000
    await texts.update("a", COMPANY, () => ({ count: 2 }))
    expect(await texts.listNewest(null, 10)).toEqual([
      { name: "a", companyId: COMPANY, content: { count: 2 }, createdAt: new Date(NOW) },
      { name: "b", companyId: COMPANY, content: { count: 1 }, createdAt: new Date(NOW) },
    ])
  })
})

describe("the newest records", () => {
  it("are the last inserted ones, in order, of one company or of all", async () => {
    for (const name of ["c", "a", "d", "b"]) {
      await texts.insertIfAbsent(name, name === "d" ? OTHER : COMPANY, { count: 1 })
    }
    const names = async (companyId: CompanyId | null, limit: number) =>
      (await texts.listNewest(companyId, limit)).map(({ name }) => name)
    expect(await names(null, 3)).toEqual(["a", "d", "b"])
    expect(await names(COMPANY, 2)).toEqual(["a", "b"])
    expect(await names(OTHER, 2)).toEqual(["d"])
  })
})

describe("the erasure of a company", () => {
  it("deletes all its records except permanent ones, and none of another company", async () => {
    const payments = open({ provider: "cards", kind: "payment", isPermanent: true })
    for (const companyId of [COMPANY, OTHER] as const) {
      await texts.insertIfAbsent(`text of ${companyId}`, companyId, { count: 1 })
      await payments.insertIfAbsent(`payment of ${companyId}`, companyId, { count: 1 })
    }
    const forgetKeys = () => undefined
    const erasure = openPostgresErasure({ pool, pacer: machinePacer, forgetKeys, readModels: [] })
    await erasure.deleteRows(COMPANY)
    expect(await texts.listNewest(null, 10)).toMatchObject([{ companyId: OTHER }])
    expect(await payments.listNewest(null, 10)).toMatchObject([
      { companyId: COMPANY },
      { companyId: OTHER },
    ])
  })
})
