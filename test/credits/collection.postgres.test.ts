/** Collecting the month's debt of companies that pay by card. */
import { sql } from "kysely"
import { beforeEach, describe, expect, it, vi } from "vitest"
import { ProviderOutcomeUnknown } from "../../adapters/providers/provider-errors.ts"
import { exportMonth } from "../billing/bill-export.ts"
import { executeCommands } from "../projections/ledger-requests.ts"
import { chargeCommandFor } from "../projections/every-fact.ts"
import { postText } from "../phone/text-requests.ts"
import { retryJobsOf, pendingJobsOf } from "../effects/texts.ts"
import type { Company } from "../support/world.ts"
import { fundsMicrosOf, makeCallsFree, makeCompany, ownWorld } from "../support/world.ts"
import { expectSoundAudit } from "./buy-funds.ts"

const world = await ownWorld("time")
let company: Company
await makeCallsFree(world)
beforeEach(async () => {
  vi.restoreAllMocks()
  company = await makeCompany(world, { funds: "0" })
  const { companyId } = company
  await world.operate("company change", { company: companyId, pays: "card", creditLine: "100" })
})

/** Spends an amount of the credit line. */
async function owe(amountMicros: number): Promise<void> {
  const { companyId: chargeId } = company
  await executeCommands(
    world,
    company,
    chargeCommandFor({ chargeId, amountMicros, unitPriceMicros: amountMicros }),
  )
}

/** Moves the clock to ten minutes after the month's end. */
async function endMonth(): Promise<string> {
  const now = new Date(world.ports.clock.now())
  const next = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1)
  await world.operate("clock set", { to: new Date(next + 600_000).toISOString() })
  return new Date(next).toISOString().slice(0, 7)
}

/** The company's payments at the simulated processor, in order. */
async function payments(): Promise<readonly [string, number][]> {
  const { rows } = await sql<{ status: string; amount_micros: string }>`
    select content ->> 'status' as status, content ->> 'amountMicros' as amount_micros
    from ledger.simulated_records
    where company_id = ${company.companyId} and kind = 'payment' order by record_id`.execute(
    world.ports.readAll,
  )
  return rows.map((row) => [row.status, Number(row.amount_micros)])
}

describe("a debt at the end of a month", () => {
  it("is paid by card in whole cents, and is on the bill as funds added", async () => {
    await owe(12_345_678)
    const month = await endMonth()
    expect(await payments()).toEqual([["paid", 12_350_000]])
    expect(await fundsMicrosOf(world, company)).toBe(4_322)
    const { lines } = await exportMonth(world, company, month)
    expect(lines.map(({ kind, amount_micros }) => [kind, amount_micros])).toEqual([
      ["funds_added", "12350000"],
    ])
    await endMonth()
    expect(await payments()).toHaveLength(1)
    expect(await pendingJobsOf(world, company.companyId)).toEqual([])
  })

  it("is paid once if recording it failed at first", async () => {
    await owe(12_000_000)
    const { runner } = world.ports
    const execute = runner.execute.bind(runner)
    let failures = 0
    vi.spyOn(runner, "execute").mockImplementation(async (to, command, ...rest) => {
      const { type } = command as { readonly type?: string }
      if (type === "AddFunds" && failures++ === 0) throw new Error("the store is unavailable")
      return execute(to, command, ...rest)
    })
    await endMonth()
    await retryJobsOf(world, company.companyId, "collect-credit")
    expect(failures).toBeGreaterThan(0)
    expect(await payments()).toHaveLength(1)
    expect(await fundsMicrosOf(world, company)).toBe(0)
  })

  it("locks the account if the card is declined, until an operator unlocks it", async () => {
    const { companyId, key } = company
    await owe(12_000_000)
    await world.operate("card set", { company: companyId, outcome: "declined" })
    await endMonth()
    expect(await world.operate("company show", { company: companyId })).toMatchObject({
      locked: true,
      balanceMicros: -12_000_000,
    })
    const { status, body } = await postText(world, key)
    expect([status, body.error, body.pay]).toEqual([402, "payment_required", undefined])
    await world.operate("card set", { company: companyId })
    await world.operate("company unlock", { company: companyId })
    await endMonth()
    expect(await payments()).toEqual([
      ["declined", 12_000_000],
      ["paid", 12_000_000],
    ])
    expect(await fundsMicrosOf(world, company)).toBe(0)
  })

  it("locks the account of a company without a card", async () => {
    const { companyId } = company
    await owe(12_000_000)
    await world.operate("card remove", { company: companyId })
    await endMonth()
    expect((await world.operate("company show", { company: companyId })).locked).toBe(true)
    expect(await payments()).toEqual([])
  })

  it("does not lock the account if the processor is misconfigured, and is collected afterwards", async () => {
    const { companyId } = company
    await owe(12_000_000)
    await world.operate("simulator set", { name: "cards", outcome: "misconfigured" })
    await endMonth()
    await world.operate("clock advance", { duration: "73h" })
    const rows = await pendingJobsOf(world, companyId)
    const row = rows.find(({ kind }) => kind === "collect-credit")
    expect(row?.stuck).toBe(
      "the simulated processor rejects the request, because its outcome is set to misconfigured",
    )
    expect((await world.operate("company show", { company: companyId })).locked).toBe(false)
    await world.operate("simulator set", { name: "cards", outcome: "ok" })
    await world.operate("job retry", { jobId: row?.jobId })
    await world.operate("wait")
    expect(await payments()).toEqual([["paid", 12_000_000]])
    expect(await fundsMicrosOf(world, company)).toBe(0)
    expect((await world.operate("company show", { company: companyId })).locked).toBe(false)
  })

  it("is left to an operator if the processor has not executed the payment for 72 hours", async () => {
    const { companyId } = company
    await owe(12_000_000)
    const open = { answer: "unconfirmed", paymentId: "pi_1" } as const
    vi.spyOn(world.ports.cards, "checkPaymentStatus").mockResolvedValue(open)
    await endMonth()
    await world.operate("clock advance", { duration: "73h" })
    const rows = await pendingJobsOf(world, companyId)
    const row = rows.find(({ kind }) => kind === "collect-credit")
    expect(row?.stuck).toContain("has not executed the payment for 72 hours")
    expect((await world.operate("company show", { company: companyId })).locked).toBe(false)
  })

  it("is ordered under another idempotency key if an operator canceled it before the card was tried", async () => {
    const { companyId } = company
    await owe(12_000_000)
    const open = { answer: "unconfirmed", paymentId: "pi_1" } as const
    const canceled = { answer: "payment_failed", paymentId: "pi_1", isCardUntried: true } as const
    const { cards } = world.ports
    const checkStatus = cards.checkPaymentStatus.bind(cards)
    let first: string | null = null
    let isCanceled = false
    vi.spyOn(cards, "checkPaymentStatus").mockImplementation(async (payment) => {
      if (payment.companyId === companyId) first ??= payment.idempotencyKey
      if (payment.idempotencyKey !== first) return checkStatus(payment)
      return isCanceled ? canceled : open
    })
    await endMonth()
    await world.operate("clock advance", { duration: "73h" })
    const rows = await pendingJobsOf(world, companyId)
    const row = rows.find(({ kind }) => kind === "collect-credit")
    expect(row?.stuck).toContain("cancel it there")
    isCanceled = true
    await world.operate("job retry", { jobId: row?.jobId })
    await world.operate("wait")
    expect(await payments()).toEqual([["paid", 12_000_000]])
    expect(await fundsMicrosOf(world, company)).toBe(0)
    expect((await world.operate("company show", { company: companyId })).locked).toBe(false)
  })

  it("is checked if the processor did not answer, and never taken twice", async () => {
    await owe(12_000_000)
    await world.operate("simulator set", { name: "cards", outcome: "silent", times: 1 })
    await endMonth()
    expect(await payments()).toEqual([["paid", 12_000_000]])
    expect(await fundsMicrosOf(world, company)).toBe(0)
  })

  it("is left to an operator if the processor does not answer for 72 hours", async () => {
    await owe(12_000_000)
    vi.spyOn(world.ports.cards, "checkPaymentStatus").mockRejectedValue(
      new ProviderOutcomeUnknown("no answer"),
    )
    await endMonth()
    await world.operate("clock advance", { duration: "73h" })
    const rows = await pendingJobsOf(world, company.companyId)
    const row = rows.find(({ kind }) => kind === "collect-credit")
    expect(row?.stuck).toContain("72 hours")
    await expect(world.operate("job discard", { jobId: row?.jobId })).rejects.toThrow(
      "is owed the result",
    )
  })

  it("is not collected again in the following month", async () => {
    await owe(12_000_000)
    await world.operate("clock advance", { duration: "70d" })
    expect(await payments()).toEqual([["paid", 12_000_000]])
  })

  it.for([
    ["less than a dollar", async () => owe(999_999)],
    [
      "a company that now pays from prepaid funds",
      async () => {
        await owe(12_000_000)
        await world.operate("company change", {
          company: company.companyId,
          pays: "prepaid",
          creditLine: "0",
        })
      },
    ],
  ] as const)("is not collected: %s", async ([, arrange]) => {
    await arrange()
    await endMonth()
    expect(await payments()).toEqual([])
    expect((await world.operate("company show", { company: company.companyId })).locked).toBe(false)
  })
})

describe("the audit of all collections", () => {
  it("finds no faults", () => expectSoundAudit(world))
})
