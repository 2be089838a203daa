/** Laws 5 and 6: what can happen once happens once. */
import type { LedgerCommand } from "../../domain/charging/ledger-commands.ts"
import type { Charged, LedgerEvent } from "../../domain/charging/ledger-events.ts"
import { isRefusal } from "../../domain/kernel/decider.ts"
import type { ChargeId } from "../../domain/kernel/ids.ts"
import { type LedgerLaw, knownAt, canonicalText } from "./law.ts"
import { callsChargeId, unchargedCallsIn } from "./reference-calls.ts"
import type { LedgerFacts } from "./reference-views.ts"
import { isSameLimit, pendingChargesIn, limitReadingOf } from "./reference-views.ts"
import { limitsAffectedBy } from "./reference-reminders.ts"
import type { DecisionStep, LedgerTrace } from "./play-history.ts"
import { acceptedFacts } from "./ledger-under-test.ts"

/** Law 5. A charge ends once: it is settled or refunded. */
export const chargesSettleOnce: LedgerLaw = (trace) => {
  const charges: { readonly fact: Charged; isOpen: boolean }[] = []
  const open = (id: ChargeId) => charges.find(({ fact, isOpen }) => isOpen && fact.chargeId === id)
  for (const fact of trace.facts) {
    if (fact.type === "Charged") {
      if (open(fact.chargeId) !== undefined) return `charged while pending: ${canonicalText(fact)}`
      charges.push({ fact, isOpen: fact.isPending })
    }
    for (const id of fact.type === "ChargesSettled" ? fact.chargeIds : []) {
      const closed = open(id)
      if (closed === undefined) return `settled but was not pending: ${canonicalText(fact)}`
      closed.isOpen = false
    }
    const ended = fact.type === "ChargeReduced" ? open(fact.chargeId) : undefined
    if (ended !== undefined) ended.isOpen = false
  }
  for (const [i, step] of trace.steps.entries()) {
    const next = trace.steps[i + 1]?.factsBefore ?? trace.facts.length
    const right = pendingChargesIn(trace.facts.slice(0, next))
    if (canonicalText(right) !== canonicalText(step.after.pendingCharges))
      return `pending are ${canonicalText(step.after.pendingCharges)}`
    if (
      step.does === "decide" &&
      isRepeatedSettlement(trace.facts.slice(0, step.factsBefore), step)
    ) {
      return `ended but was not pending: ${canonicalText(step.answer)}`
    }
  }
  return null
}

/** Law 5 for amounts: the refunds of a charge never exceed the charge. */
export const noChargeIsRefundedBeyondItsAmount: LedgerLaw = ({ facts }) => {
  const left = new Map<string, number>()
  for (const fact of facts) {
    if (fact.type === "Charged") {
      // An id may be charged again, so a refund names its charge by id and instant.
      const name = canonicalText([fact.chargeId, countedAt(fact)])
      left.set(name, (left.get(name) ?? 0) + fact.amountMicros)
    }
    if (fact.type !== "ChargeReduced") continue
    const name = canonicalText([fact.chargeId, fact.countedAt])
    const rest = (left.get(name) ?? Number.NaN) - fact.amountMicros
    if (!(rest >= 0)) return `refunded beyond its amount: ${canonicalText(fact)}`
    left.set(name, rest)
  }
  return null
}

/** Calls count on the day they were served, other charges when they are made. */
function countedAt({ isAlreadyCounted, servedFrom, at }: Charged): number | null {
  return isAlreadyCounted ? servedFrom : at
}

/** Whether a job's refund was accepted for a charge that is not pending; only operators may refund settled ones. */
function isRepeatedSettlement(facts: LedgerFacts, { command, answer }: DecisionStep): boolean {
  const hasEnded =
    command.type === "RefundPendingCharge" && !pendingChargesIn(facts).includes(command.chargeId)
  return hasEnded && acceptedFacts(answer).length > 0
}

/** Law 6. Unique facts happen once, and a charge that has ended is not confirmed as a new one. */
export const uniqueFactsHappenOnce: LedgerLaw = (trace) => {
  const used = new Set<string>()
  for (const [index, fact] of trace.facts.entries()) {
    for (const name of uniqueKeysOf(fact)) {
      if (used.has(name)) return `${name}, again: ${canonicalText(fact)}`
      used.add(name)
    }
    const wrong = wrongCallCharge(trace.facts.slice(0, index), fact)
    if (wrong !== "") return `${wrong}: ${canonicalText(fact)}`
  }
  const lost = lostCalls(trace)
  if (lost !== 0) return `${lost} served calls are neither recorded nor buffered`
  for (const step of trace.steps) {
    if (step.does === "serve") continue
    const { command, answer, repeatedAnswer } = step
    const { facts } = knownAt(trace, step)
    const isSilent = !isRefusal(answer) && answer.length === 0
    if (command.type === "Charge" && isSilent && !hasItsCharge(facts, command)) {
      return `accepted without its charge: ${canonicalText(command)}`
    }
    const isWithoutFacts = isRefusal(answer) || isSilent
    if (isWithoutFacts && canonicalText(answer) !== canonicalText(repeatedAnswer)) {
      return `a repeated decision without facts differs: ${canonicalText(repeatedAnswer)}`
    }
    if (
      !mayRepeat(command) &&
      acceptedFacts(answer).length > 0 &&
      acceptedFacts(repeatedAnswer).length > 0
    ) {
      return `recorded again: ${canonicalText(repeatedAnswer)}`
    }
  }
  return null
}

/** The number of served calls that were lost; below zero for calls that were never served. */
function lostCalls({ steps, facts }: LedgerTrace): number {
  const served = steps.filter((step) => step.does === "serve" && step.answer === null).length
  const buffered = ([0, 1] as const).map((on) => {
    return steps.findLast((step) => step.process === on)?.after.buffered.length ?? 0
  })
  const counted = facts.flatMap((fact) => (fact.type === "ApiCallsCounted" ? fact.counters : []))
  const calls = counted.reduce((sum, counter) => sum + counter.calls, 0)
  return buffered.reduce((rest, waiting) => rest - waiting, served - calls)
}

/** Keys for what a fact can do only once. */
function uniqueKeysOf(fact: LedgerEvent): readonly string[] {
  switch (fact.type) {
    case "LedgerOpened":
      return ["opened"]
    case "FundsAdded":
      return fact.reference === null ? [] : [`added ${fact.reference}`]
    case "Charged":
      if (fact.isAlreadyCounted) return [`calls charged as ${fact.chargeId}`]
      return fact.isExternalId ? [`charged once as ${fact.chargeId}`] : []
    case "PurchaseStarted":
      return [`bought ${fact.purchaseId}`]
    case "PurchaseOrdered":
      return [`ordered ${fact.purchaseId}`]
    case "PurchasePaid":
    case "PurchaseFailed":
      return [`ended ${fact.purchaseId}`]
    case "MonthClosed":
      return [`closed ${fact.month}`]
    default:
      return []
  }
}

/** Describes a wrong charge for calls: it must cover all calls of a day, after the day's end. */
function wrongCallCharge(before: LedgerFacts, fact: LedgerEvent): string {
  if (fact.type === "ApiCallsCounted") {
    const names = fact.counters.map((counter) => callsChargeId(counter, fact.day))
    const charged = before.some((one) => one.type === "Charged" && names.includes(one.chargeId))
    return charged ? "counted for a day that is already charged" : ""
  }
  if (fact.type !== "Charged" || !fact.isAlreadyCounted) return ""
  const calls = unchargedCallsIn(before).find(({ chargeId }) => chargeId === fact.chargeId)
  if (calls === undefined) return "charges calls that were not counted"
  if (fact.at < calls.day + 24 * 3_600_000) return "charges a day that has not ended"
  const isAll =
    fact.quantity === calls.calls && fact.amountMicros === calls.calls * calls.unitPriceMicros
  return isAll ? "" : `charges other calls than ${canonicalText(calls)}`
}

/** Whether an empty decision is right: the charge is pending, or its external id is already used. */
function hasItsCharge(
  facts: LedgerFacts,
  command: Extract<LedgerCommand, { type: "Charge" }>,
): boolean {
  const { chargeId, searchedUpTo } = command
  if (pendingChargesIn(facts).includes(chargeId)) return true
  if (searchedUpTo === null) return false
  return facts.some(
    (one) => one.type === "Charged" && one.isExternalId && one.chargeId === chargeId,
  )
}

/** Whether the same command may take effect again. */
function mayRepeat(command: LedgerCommand): boolean {
  switch (command.type) {
    case "Charge":
      return !command.isPending && command.searchedUpTo === null
    case "AddFunds":
      return command.reference === null
    case "CorrectFunds":
    case "RecordApiCalls":
      return true
    case "ChargeApiCalls":
      // A limited command leaves the remaining charges for the next one.
      return command.maxCharges < 1_000
    default:
      return false
  }
}

/** Law 6 for reminders: each is sent in the append that reaches it, and once per window. */
export const remindersAreSentOnce: LedgerLaw = (trace) => {
  const sent = new Set<string>()
  for (const fact of trace.facts) {
    if (fact.type !== "ReminderReached") continue
    const { holder, holderId, class: limited, period, reminderMicros, windowStart } = fact
    const name = canonicalText([holder, holderId, limited, period, reminderMicros, windowStart])
    if (sent.has(name)) return `sent again: ${canonicalText(fact)}`
    sent.add(name)
    if (fact.usedMicros < reminderMicros) return `sent too early: ${canonicalText(fact)}`
  }
  for (const step of trace.steps) {
    const missed = step.does === "decide" ? missedReminders(knownAt(trace, step).facts, step) : ""
    if (missed !== "") return `${missed}: ${canonicalText(step)}`
  }
  return null
}

/** Describes reminders that are missing in a decision or should not be there; empty if none. */
function missedReminders(before: LedgerFacts, { answer, buffered, at }: DecisionStep): string {
  const sent = acceptedFacts(answer).filter((fact) => fact.type === "ReminderReached")
  const spent = acceptedFacts(answer).find(
    ({ type }) => type === "Charged" || type === "ApiCallsCounted",
  )
  if (spent === undefined) return sent.length === 0 ? "" : "sent although nothing was spent"
  const facts = [...before, ...acceptedFacts(answer)]
  const touched = limitsAffectedBy(before, spent)
  if (sent.some((one) => !touched.some((limit) => isSameLimit(limit, one)))) {
    return "sent for another limit"
  }
  for (const limit of touched) {
    const { usedMicros, windowStart } = limitReadingOf({ facts, buffered }, limit, at, 0)
    const due = limit.remindersMicros.filter((amount) => amount <= usedMicros)
    const isSent = (amount: number): boolean =>
      facts.some((fact) => {
        if (fact.type !== "ReminderReached" || !isSameLimit(fact, limit)) return false
        const isOfNow = fact.period === limit.period && fact.windowStart === windowStart
        return isOfNow && fact.reminderMicros === amount
      })
    if (!due.every(isSent)) return `reminders are missing for ${canonicalText(limit)}`
  }
  return ""
}
