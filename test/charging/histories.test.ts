import fc from "fast-check"
import { beforeAll, describe, expect, it } from "vitest"
import { ledgerFormats } from "../../domain/charging/ledger-events.ts"
import { isRefusal } from "../../domain/kernel/decider.ts"
import { crowdedHistories, histories } from "./histories.ts"
import type { DecisionStep, ServedStep, LedgerTrace } from "./play-history.ts"
import { playHistory } from "./play-history.ts"
import { realLedger } from "./ledger-under-test.ts"

const DAY_MS = 86_400_000

let traces: readonly LedgerTrace[] = []
let decided: readonly DecisionStep[] = []
let served: readonly ServedStep[] = []

beforeAll(() => {
  const usual = fc.sample(histories(80), { numRuns: 250, seed: 4 })
  const crowded = fc.sample(crowdedHistories, { numRuns: 10, seed: 4 })
  traces = [...usual, ...crowded].map((history) => playHistory(realLedger, history))
  const steps = traces.flatMap((trace) => trace.steps)
  decided = steps.filter((step) => step.does === "decide")
  served = steps.filter((step) => step.does === "serve")
})

const facts = () => traces.flatMap((trace) => trace.facts)
const count = <T>(values: readonly T[], isSo: (value: T) => boolean): number =>
  values.filter(isSo).length

describe("the histories", () => {
  it("contain every fact, even with an exemption, a caller's id, or calls already counted", () => {
    const kinds = new Set(
      facts().map((fact) => {
        const marks = ["exemption", "isExternalId", "isAlreadyCounted"] as const
        const fields: Readonly<Record<string, unknown>> = { ...fact }
        const marked = marks.filter((mark) => Boolean(fields[mark]))
        return [fact.type, ...marked].join(" ")
      }),
    )
    const marked = ["exemption", "isExternalId", "exemption isAlreadyCounted"].map(
      (marks) => `Charged ${marks}`,
    )
    const all = [...Object.keys(ledgerFormats), ...marked, "ApiCallsCounted exemption"]
    expect([...kinds].toSorted()).toEqual(all.toSorted())
  })

  it("contain every rejection, by every holder", () => {
    const codes = new Set<string>()
    for (const { command, answer } of decided) {
      if (!isRefusal(answer)) continue
      const by =
        answer.type === "ChargeRefused" ? answer.limits[answer.refusingLimit ?? -1] : undefined
      codes.add(by === undefined ? `${command.type} ${answer.code}` : `by the ${by.holder}'s limit`)
    }
    for (const { answer } of served) if (answer !== null) codes.add(`a call by a ${answer.holder}`)
    expect([...codes].toSorted()).toEqual([
      "AddFunds bad_amount",
      "AddFunds ledger_closed",
      "ChangeCreditTerms bad_amount",
      "ChangeCreditTerms ledger_closed",
      "Charge account_locked",
      "Charge bad_amount",
      "Charge ledger_closed",
      "Charge payment_required",
      "Charge search_again",
      "CorrectFunds bad_amount",
      "OpenLedger bad_amount",
      "RefundPendingCharge bad_amount",
      "RefundSettledCharge bad_amount",
      "RefundSettledCharge search_again",
      "RemoveLimit ledger_closed",
      "RemoveLimit no_such_limit",
      "ReopenLedger company_erased",
      "SetLimit bad_limit",
      "SetLimit ledger_closed",
      "SetLowFundsAlert bad_amount",
      "SetLowFundsAlert ledger_closed",
      "SetPurchaseTerms bad_amount",
      "SetPurchaseTerms ledger_closed",
      "StartErasure not_deleted",
      "StartPurchase bad_amount",
      "StartPurchase ledger_closed",
      "StartPurchase over_monthly_limit",
      "StartPurchase over_purchase_limit",
      "StartPurchase purchase_needs_review",
      "StartPurchase purchase_not_allowed",
      "a call by a company",
      "a call by a key",
      "a call by a person",
      "by the company's limit",
      "by the key's limit",
      "by the person's limit",
    ])
  })

  it("reach limits to the micro, and exceed them by one micro", () => {
    const over = count(decided, ({ answer }) => {
      if (!isRefusal(answer) || answer.type !== "ChargeRefused") return false
      const limit = answer.limits[answer.refusingLimit ?? -1]
      return limit !== undefined && limit.usedMicros + limit.askedMicros === limit.amountMicros + 1
    })
    const filled = count(decided, ({ command, answer, after }) => {
      if (command.type !== "Charge" || command.amountMicros === 0 || isRefusal(answer)) return false
      return after.limits.some((limit) => limit.usedMicros === limit.amountMicros)
    })
    expect(over).toBeGreaterThan(100)
    expect(filled).toBeGreaterThan(100)
  })

  it("have facts in the last millisecond of a window and in the first of the next", () => {
    for (const type of ["Charged", "ApiCallsCounted", "ReminderReached", "PurchaseStarted"]) {
      const instants = facts()
        .filter((fact) => fact.type === type)
        .map(({ at }) => at)
      expect(
        count(instants, (at) => (at + 1) % DAY_MS === 0),
        type,
      ).toBeGreaterThan(10)
      expect(
        count(instants, (at) => at % DAY_MS === 0),
        type,
      ).toBeGreaterThan(10)
    }
  })

  it("reach reminders to the micro, one by one and several together", () => {
    const reached = facts().filter((fact) => fact.type === "ReminderReached")
    expect(count(reached, (one) => one.usedMicros === one.reminderMicros)).toBeGreaterThan(30)
    expect(count(reached, (one) => one.usedMicros > one.reminderMicros)).toBeGreaterThan(30)
    const answers = decided.map(({ answer }) => (isRefusal(answer) ? [] : answer))
    const several = answers.filter(
      (all) => count(all, ({ type }) => type === "ReminderReached") > 1,
    )
    expect(several.length).toBeGreaterThan(10)
  })

  it("lower the funds below the alert's amount by one micro and more, in several ways", () => {
    const low = facts().filter((fact) => fact.type === "LowFundsReached")
    expect(count(low, (one) => one.fundsMicros === one.belowMicros - 1)).toBeGreaterThan(30)
    expect(count(low, (one) => one.fundsMicros < one.belowMicros - 1)).toBeGreaterThan(30)
    for (const type of ["Charge", "ChargeApiCalls", "CorrectFunds", "SetLowFundsAlert"]) {
      const alerts = count(decided, ({ command, answer }) => {
        const isOf = command.type === type && !isRefusal(answer)
        return isOf && answer.some((fact) => fact.type === "LowFundsReached")
      })
      expect(alerts, type).toBeGreaterThan(3)
    }
  })

  it("refund charges after the window has ended, by jobs and by operators", () => {
    const isLate = (fact: { readonly at: number; readonly countedAt: number }): boolean =>
      Math.floor(fact.countedAt / DAY_MS) < Math.floor(fact.at / DAY_MS)
    const back = facts().filter((fact) => fact.type === "ChargeReduced")
    expect(count(back, (one) => isLate(one) && one.reason === "a reason")).toBeGreaterThan(20)
    expect(count(back, (one) => isLate(one) && one.reason === "by hand")).toBeGreaterThan(20)
  })

  it("decide with buffered calls of both processes, and store them on a later day", () => {
    const refused = count(
      decided,
      ({ answer, buffered }) => isRefusal(answer) && buffered.length > 0,
    )
    expect(refused).toBeGreaterThan(20)
    const counted = facts().filter((fact) => fact.type === "ApiCallsCounted")
    expect(count(counted, ({ at, day }) => at >= day + DAY_MS)).toBeGreaterThan(20)
    expect(
      count(decided, ({ process, flushedCalls }) => process === 1 && flushedCalls !== null),
    ).toBeGreaterThan(20)
    expect(count(counted, ({ counters }) => counters.length > 1)).toBeGreaterThan(20)
  })

  it("use an allowance up to the cent, on both sides of the end of a month", () => {
    const over = count(decided, ({ answer }) => {
      if (!isRefusal(answer) || answer.type !== "PurchaseRefused") return false
      const left = (answer.terms?.perMonthMicros ?? 0) - answer.takenMicros
      return answer.code === "over_monthly_limit" && answer.amountMicros === left + 10_000
    })
    expect(over).toBeGreaterThan(3)
    const paid = facts().filter((fact) => fact.type === "PurchasePaid")
    const isOfNextMonth = (fact: { readonly at: number; readonly startedAt: number }): boolean =>
      new Date(fact.at).getUTCMonth() !== new Date(fact.startedAt).getUTCMonth()
    expect(count(paid, isOfNextMonth)).toBeGreaterThan(3)
  })

  it("forget names, and use them again", () => {
    const repeated = decided.filter(({ command, answer }) => {
      const isNamed = command.type === "Charge" && command.searchedUpTo !== null
      return isNamed && !isRefusal(answer) && answer.length === 0
    })
    expect(repeated.length).toBeGreaterThan(3)
  })
})
