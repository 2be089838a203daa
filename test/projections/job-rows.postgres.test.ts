import { PROGRAM } from "../../src/slices.ts"
import { type Transaction, sql } from "kysely"
import { afterAll, beforeEach, describe, expect, it } from "vitest"
import { openWriteBehindPool, kyselyOnConnection } from "../../adapters/postgres/database.ts"
import { inTransaction } from "../../adapters/postgres/projector/tables.ts"
import type { LedgerEvent } from "../../domain/charging/ledger-events.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { JOBS_PROJECTION, DELAYED_JOBS_PROJECTION } from "../../projections/kernel/jobs.ts"
import type { Projection, ProjectedFact } from "../../projections/kernel/projection.ts"
import { testDatabase } from "../support/test-database.ts"

const database = await testDatabase()
const pool = openWriteBehindPool(database.url, 1, () => undefined)
afterAll(async () => {
  await pool.end()
  await database.drop()
})

let revision = 0
beforeEach(async () => {
  await pool.query("delete from ledger.jobs")
  revision = 0
})

/** A fact as read models receive it; revisions count from 0 in each test. */
function recorded(fact: LedgerEvent, companyId: CompanyId = "co_a"): ProjectedFact {
  const ownRevision = revision
  revision += 1
  const stream = `ledger-${companyId}`
  const noCaller = { keyId: null, personId: null, actor: null }
  return { stream, category: "ledger", companyId, revision: ownRevision, fact, ...noCaller }
}

const project = (...batch: readonly ProjectedFact[]) => projectBy(PROGRAM.jobProjections, batch)

async function projectBy(
  by: readonly Projection[],
  batch: readonly ProjectedFact[],
): Promise<void> {
  await inTransaction(pool, async (client) => {
    const tx = kyselyOnConnection(client) as Transaction<unknown>
    for (const { apply } of by) await apply(tx, batch, { unseal: async () => null })
  })
}

/** Every row: kind, name, subject, company, due time, payload. */
async function rows(): Promise<readonly (readonly unknown[])[]> {
  return inTransaction(pool, async (client) => {
    const found = await sql<Record<string, unknown>>`
      select kind, name, subject, company_id, due_at, payload::json as payload
      from ledger.jobs order by kind, name`.execute(kyselyOnConnection(client))
    return found.rows.map(({ due_at, ...row }) => {
      const { kind, name, subject, company_id, payload } = row
      return [kind, name, subject, company_id, (due_at as Date).toISOString(), payload]
    })
  })
}

const AT = Date.parse("2026-11-21T10:00:00.000Z")
const opened: LedgerEvent = {
  type: "LedgerOpened",
  at: AT,
  prepaidOnly: false,
  creditLineMicros: 0,
}
const closedMonth = (month: string, at: number): LedgerEvent => ({
  type: "MonthClosed",
  at,
  month,
  openingMicros: 0,
  addedMicros: 0,
  purchasedMicros: 0,
  correctedMicros: 0,
  chargedMicros: 0,
  reducedMicros: 0,
  fundsMicros: 0,
  charges: 0,
  headRevision: 0,
  headHash: "",
})

describe("close-month", () => {
  it("is due at the end of the month in which the ledger was opened, and of each following month", async () => {
    await project(recorded(opened), recorded({ ...opened, at: AT + 1 }, "co_b"))
    const row = (companyId: CompanyId, month: string, end: string) => {
      const name = `${companyId}:${month}`
      return ["close-month", name, name, companyId, `${end}T00:00:00.000Z`, { month }]
    }
    const november = row("co_a", "2026-11", "2026-12-01")
    expect(await rows()).toEqual([november, row("co_b", "2026-11", "2026-12-01")])
    await project(recorded(closedMonth("2026-11", Date.parse("2026-12-01T00:00:00.000Z"))))
    expect(await rows()).toContainEqual(row("co_a", "2026-12", "2027-01-01"))
  })

  it("is one row for the current month after several months were closed together", async () => {
    const at = Date.parse("2027-02-28T23:59:59.999Z")
    await project(recorded(closedMonth("2026-12", at)), recorded(closedMonth("2027-01", at)))
    await project(recorded(closedMonth("2027-01", at)))
    expect((await rows()).map(([, name, , , due]) => [name, due])).toEqual([
      ["co_a:2027-02", "2027-03-01T00:00:00.000Z"],
    ])
  })
})

describe("charge-calls", () => {
  it("is one row per company and day, due ten minutes after the end of the day", async () => {
    const day = Date.parse("2026-11-20T00:00:00.000Z")
    const counted: LedgerEvent = {
      type: "ApiCallsCounted",
      at: AT,
      day,
      unitPriceMicros: 100,
      priceVersion: 1,
      counters: [{ via: "own_key", keyId: "key_1", personId: "per_1", calls: 1 }],
      exemption: null,
    }
    await project(recorded(counted), recorded(counted), recorded(counted, "co_b"))
    await project(recorded(counted))
    const due = "2026-11-21T00:10:00.000Z"
    const row = (companyId: CompanyId) => {
      const name = `${companyId}:2026-11-20`
      return ["charge-calls", name, name, companyId, due, { day }]
    }
    expect(await rows()).toEqual([row("co_a"), row("co_b")])
  })
})

describe("an email to people", () => {
  const lowFunds = { type: "LowFundsReached", at: AT, belowMicros: 20, fundsMicros: 19 } as const
  const reminder = {
    type: "ReminderReached",
    at: AT,
    holder: "person",
    holderId: "per_1",
    class: "ai",
    period: "week",
    limitMicros: 20,
    reminderMicros: 10,
    usedMicros: 11,
    windowStart: 1,
    resetsAt: 2,
  } as const
  it.each([
    ["send-reminder", reminder],
    ["send-low-funds-alert", lowFunds],
  ] as const)("is one row per fact, with the fact's fields: %s", async (kind, fact) => {
    const { type: _type, ...payload } = fact
    await project(recorded(opened), recorded(fact), recorded(fact))
    const due = new Date(AT).toISOString()
    expect((await rows()).filter(([one]) => one === kind)).toEqual([
      [kind, "co_a:1", "co_a:1", "co_a", due, payload],
      [kind, "co_a:2", "co_a:2", "co_a", due, payload],
    ])
  })
})

describe("reconcile-charge", () => {
  const charge: LedgerEvent = {
    type: "Charged",
    at: AT,
    chargeId: "chg_1",
    via: "company",
    keyId: null,
    personId: null,
    class: "general",
    item: "thing",
    quantity: 1,
    unitPriceMicros: 1,
    priceVersion: 1,
    amountMicros: 1,
    resource: null,
    requestedAt: AT,
    dueAt: null,
    servedFrom: null,
    isPending: true,
    exemption: null,
    isExternalId: false,
    isAlreadyCounted: false,
  }
  const closed: LedgerEvent = { type: "ChargesSettled", at: AT, chargeIds: ["chg_1"] }

  it("exists while a charge is pending, even for a later charge with the same id", async () => {
    await project(recorded(charge))
    expect((await rows()).map(([kind, name]) => [kind, name])).toEqual([
      ["reconcile-charge", "chg_1"],
    ])
    await project(recorded(closed), recorded(charge))
    expect(await rows()).toHaveLength(1)
    await project(recorded(closed))
    expect(await rows()).toEqual([])
    await project(recorded(charge), recorded(closed))
    expect(await rows()).toEqual([])
    await project(recorded({ ...charge, isPending: false }))
    expect(await rows()).toEqual([])
  })

  it("is the only job that the projection of delayed jobs writes", async () => {
    const [soon, late] = [JOBS_PROJECTION, DELAYED_JOBS_PROJECTION].map((name) =>
      PROGRAM.jobProjections.filter((one) => one.name === name),
    )
    await projectBy(soon ?? [], [recorded(opened), recorded(charge)])
    expect((await rows()).map(([kind]) => kind)).toEqual(["close-month"])
    await projectBy(late ?? [], [recorded(opened, "co_b"), recorded(charge, "co_b")])
    expect((await rows()).map(([kind]) => kind)).toEqual(["close-month", "reconcile-charge"])
    expect(late).toMatchObject([{ bufferMs: 2_000 }])
  })
})
