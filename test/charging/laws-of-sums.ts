/** Laws 3, 4 and 11: the ledger's stored sums equal the sums of its facts. */
import type { MonthClosed } from "../../domain/charging/ledger-events.ts"
import type { Limit, LimitReading } from "../../domain/charging/limits.ts"
import { postingsOf } from "../../domain/charging/postings.ts"
import { isMicros } from "../../domain/kernel/money.ts"
import { PERIODS } from "../../domain/kernel/window.ts"
import { type LedgerLaw, knownAt, canonicalText } from "./law.ts"
import type { LedgerFacts } from "./reference-views.ts"
import { fundsIn, isSameLimit, limitsIn, limitReadingOf } from "./reference-views.ts"
import { dueMonthClosings } from "./reference-months.ts"
import { refold } from "./play-history.ts"
import { type LedgerRun, acceptedFacts } from "./ledger-under-test.ts"
import { LIMIT_NAMES } from "./history.ts"

/** Law 3. Funds are added + bought + corrected − charged + refunded, at every revision. */
export const fundsAddUp: LedgerLaw = ({ facts, fundsAfter }) => {
  let funds = 0
  for (const [revision, fact] of facts.entries()) {
    funds += fundsIn([fact])
    const found = fundsAfter[revision]
    if (found !== funds) return `funds are ${found}, not ${funds}, after ${canonicalText(fact)}`
  }
  return null
}

/** Law 4. A window's counter is its charges and calls, minus refunds while the window was current. */
export const sumsAddUp: LedgerLaw = ({ steps, facts }, subject) => {
  for (const [i, step] of steps.entries()) {
    const known = {
      facts: facts.slice(0, steps[i + 1]?.factsBefore ?? facts.length),
      buffered: step.after.buffered,
    }
    const limits = limitsIn(known.facts)
    for (const reading of step.after.limits) {
      const limit = limits.find((one) => isSameLimit(one, reading))
      if (limit === undefined) return `reads a removed limit: ${canonicalText(reading)}`
      const right = limitReadingOf(known, limit, step.at, 0)
      if (!isSameReading(right, reading))
        return `read ${canonicalText(reading)}, not ${canonicalText(right)}`
    }
    if (step.after.limits.length !== limits.length)
      return `does not read all of ${canonicalText(limits)}`
  }
  return probeLimits(refold(subject, facts), facts, steps.at(-1)?.at ?? 0)
}

function isSameReading(a: LimitReading, b: LimitReading): boolean {
  return (Object.keys(a) as (keyof LimitReading)[]).every((field) => a[field] === b[field])
}

/** Sets every possible limit on a ledger and reads it, because counters exist even without a limit. */
export function probeLimits(run: LedgerRun, facts: LedgerFacts, at: number): string | null {
  const known = { facts, buffered: [] }
  for (const name of LIMIT_NAMES) {
    for (const period of PERIODS) {
      for (const leaveKeysOut of name.holder === "person" ? [false, true] : [false]) {
        const limit: Limit = { ...name, period, amountMicros: 0, remindersMicros: [], leaveKeysOut }
        run.evolve({ type: "LimitSet", at, ...limit })
        const found = run.limits(at).find((reading) => isSameLimit(limit, reading))
        const right = limitReadingOf(known, limit, at, 0)
        if (canonicalText(found) !== canonicalText(right))
          return `read ${canonicalText(found)}, not ${canonicalText(right)}`
      }
    }
  }
  return null
}

const NO_HASH = "0".repeat(64)

/** Months are closed once and in order, before any fact of the next month, and their totals add up. */
export const monthsAddUp: LedgerLaw = (trace) => {
  const { facts } = trace
  const months: string[] = []
  for (const [index, fact] of facts.entries()) {
    if (fact.type !== "MonthClosed") continue
    const { month, openingMicros, fundsMicros } = fact
    months.push(month)
    if (fundsMicros !== fundsIn(facts.slice(0, index))) return `wrong funds: ${canonicalText(fact)}`
    if (BigInt(openingMicros) + movementOf(fact) !== BigInt(fundsMicros))
      return `does not add up: ${canonicalText(fact)}`
  }
  const gap = months.findIndex((month, i) => i > 0 && month !== monthAfter(months[i - 1] ?? ""))
  if (gap !== -1) return `${months[gap]} follows ${months[gap - 1]}`
  for (const step of trace.steps) {
    const answer = step.does === "decide" ? acceptedFacts(step.answer) : []
    if (step.does === "serve" || answer.length === 0) continue
    const { headHash = NO_HASH } = step.command
    const due = dueMonthClosings(knownAt(trace, step).facts, step.at, headHash)
    const found = answer.filter(({ type }) => type === "MonthClosed")
    if (canonicalText(due) !== canonicalText(found))
      return `closed ${canonicalText(found)}, not ${canonicalText(due)}`
    const isFirst = answer.slice(0, due.length).every(({ type }) => type === "MonthClosed")
    if (!isFirst) return `a fact comes before the closing: ${canonicalText(answer)}`
  }
  return null
}

/** The movements of a month as a big integer, because intermediate sums may exceed the exact range. */
function movementOf(closed: MonthClosed): bigint {
  const { addedMicros, purchasedMicros, correctedMicros, chargedMicros, reducedMicros } = closed
  const raised = [addedMicros, purchasedMicros, correctedMicros, reducedMicros, -chargedMicros]
  return raised.reduce((sum, micros) => sum + BigInt(micros), 0n)
}

function monthAfter(month: string): string {
  const [year = 0, number = 0] = month.split("-").map(Number)
  return new Date(Date.UTC(year, number, 1)).toISOString().slice(0, 7)
}

/** Law 11. The postings of a fact sum to zero; all postings give the funds, and spending never falls below zero. */
export const postingsBalance: LedgerLaw = ({ facts, fundsAfter }) => {
  const balances = new Map<string, bigint>()
  for (const [revision, fact] of facts.entries()) {
    const postings = postingsOf(fact)
    const sum = postings.reduce((total, { amountMicros }) => total + amountMicros, 0)
    if (sum !== 0) return `postings sum to ${sum}: ${canonicalText(fact)}`
    for (const { account, amountMicros } of postings) {
      balances.set(account, (balances.get(account) ?? 0n) + BigInt(amountMicros))
    }
    const funds = balances.get("funds") ?? 0n
    if (funds !== BigInt(fundsAfter[revision] ?? 0)) return `the funds account has ${funds}`
  }
  const [account] = [...balances].find(([name, balance]) => {
    return name.startsWith("spending:") && balance < 0n
  }) ?? [null]
  return account === null ? null : `more was refunded than spent: ${account}`
}

/** All amounts stay exact: no balance, counter or amount exceeds the range of exact sums. */
export const everythingIsExact: LedgerLaw = ({ steps, facts, fundsAfter }) => {
  const inexact = fundsAfter.findIndex((funds) => !isMicros(funds))
  if (inexact !== -1)
    return `funds are ${fundsAfter[inexact]} after ${canonicalText(facts[inexact])}`
  for (const { after } of steps) {
    // Served calls are always counted, so only values that would be rounded are wrong.
    const wrong = after.limits.find(({ usedMicros }) => !Number.isSafeInteger(usedMicros))
    if (wrong !== undefined) return `used more than an exact sum: ${canonicalText(wrong)}`
  }
  for (const fact of facts) {
    const amounts = Object.entries(fact).filter(([name]) => name.endsWith("Micros"))
    const wrong = amounts.find(([, micros]) => typeof micros === "number" && !isMicros(micros))
    if (wrong !== undefined) return `${wrong[0]} is ${wrong[1]}: ${canonicalText(fact)}`
  }
  return null
}
