/** Laws 1 and 2: every accepted charge fits, and every fitting charge is accepted. */
import type { ChargeCommand } from "../../domain/charging/ledger-commands.ts"
import type { ApiCallsCounted, Charged } from "../../domain/charging/ledger-events.ts"
import type { DecisionStamp } from "../../domain/kernel/decider.ts"
import { isRefusal } from "../../domain/kernel/decider.ts"
import { type LedgerLaw, knownAt, canonicalText } from "./law.ts"
import { exceededLimitIn } from "./reference-calls.ts"
import type { ProcessKnowledge } from "./reference-views.ts"
import {
  limitReadingsFor,
  creditLineIn,
  fundsIn,
  hasRoom,
  isSwitchedOn,
  limitReadingOf,
} from "./reference-views.ts"
import { nameUsedBy } from "./reference-names.ts"
import { purchaseRefusalIn } from "./reference-purchase-views.ts"
import { limitsAffectedBy } from "./reference-reminders.ts"
import type { DecisionStep } from "./play-history.ts"
import { acceptedFacts } from "./ledger-under-test.ts"

/** Every reason to reject a charge, in words; empty if it fits. */
function limitFaults(
  known: ProcessKnowledge,
  charge: Charged | (ChargeCommand & DecisionStamp),
): string {
  const { at, amountMicros, exemption } = charge
  const full = limitReadingsFor(known, charge, at, amountMicros).filter((limit) => !hasRoom(limit))
  const paidIn = fundsIn(known.facts)
  const funds = paidIn + creditLineIn(known.facts)
  const needsFunds = exemption === null || (exemption === "funds_while_above_zero" && paidIn <= 0)
  const isShort = needsFunds && amountMicros > 0 && amountMicros > funds
  return [
    ...full.map(
      (limit) => `the ${limit.holder}'s ${limit.period} has ${limit.remainingMicros} left`,
    ),
    ...(isShort ? [`funds are ${funds}`] : []),
    ...(isSwitchedOn(known.facts, "AccountLocked", "AccountUnlocked")
      ? ["the account is locked"]
      : []),
    ...(isSwitchedOn(known.facts, "LedgerClosed", "LedgerReopened")
      ? ["the ledger is closed"]
      : []),
  ].join(", ")
}

/** Describes a wrong exemption of stored calls; empty if it matches the limits that they exceed. */
function wrongExceededMark(known: ProcessKnowledge, counted: ApiCallsCounted): string {
  const after = { ...known, facts: [...known.facts, counted] }
  const exceeded = limitsAffectedBy(known.facts, counted).filter((limit) => {
    return limitReadingOf(after, limit, counted.at, 0).usedMicros > limit.amountMicros
  })
  if (counted.exemption === null) {
    return exceeded.map(({ holder }) => `exceeds the ${holder}'s limit`).join()
  }
  return exceeded.length === 0 ? "is exempt from limits that it does not exceed" : ""
}

/**
 * Law 1. Every accepted charge fits the funds and every current limit, unless it states an exemption; every served call
 * and every purchase fits.
 */
export const everyChargeFits: LedgerLaw = (trace) => {
  for (const step of trace.steps) {
    if (step.does === "serve") {
      const fault = exceededLimitIn(knownAt(trace, step), step.call, step.at)
      if (step.answer === null && fault !== null)
        return `served a call that exceeds ${canonicalText(fault)}`
      continue
    }
    for (const [i, fact] of acceptedFacts(step.answer).entries()) {
      const known = knownAt(trace, step, i)
      const isNightly = fact.type === "Charged" && fact.isAlreadyCounted
      if (isNightly && fact.exemption !== "funds")
        return `checked a charge for counted calls again: ${canonicalText(fact)}`
      if (fact.type === "Charged" && !isNightly) {
        const reasons = limitFaults(known, fact)
        if (reasons !== "") return `charged although ${reasons}: ${canonicalText(fact)}`
      }
      const mark = fact.type === "ApiCallsCounted" ? wrongExceededMark(known, fact) : ""
      if (mark !== "") return `${mark}: ${canonicalText(fact)}`
      if (fact.type === "PurchaseStarted" && step.command.type === "StartPurchase") {
        const code = purchaseRefusalIn(known.facts, step.command, step.at)
        if (code !== null) return `started a purchase despite ${code}: ${canonicalText(fact)}`
      }
    }
  }
  return null
}

/** Law 1 for calls: buffered calls exceed a limit only because of another process's facts. */
export const bufferedCallsFitLimits: LedgerLaw = ({ steps, facts }) => {
  if (steps.some(({ process }) => process === 1)) return null
  const exceeding = facts.find((fact) => fact.type === "ApiCallsCounted" && fact.exemption !== null)
  return exceeding === undefined
    ? null
    : `exceeds a limit without another process: ${canonicalText(exceeding)}`
}

/** Law 2. Nothing that fits is rejected. */
export const fittingChargesAreAccepted: LedgerLaw = (trace) => {
  for (const step of trace.steps) {
    if (step.does === "serve") {
      const fault = exceededLimitIn(knownAt(trace, step), step.call, step.at)
      if (step.answer !== null && fault === null)
        return `rejected a fitting call: ${canonicalText(step.answer)}`
      continue
    }
    if (isRefusal(step.answer) && isUnjustifiedRefusal(knownAt(trace, step), step)) {
      return `rejected without a reason: ${canonicalText(step.answer)}`
    }
  }
  return null
}

const MAX_REMEMBERED_NAMES = 256

function isUnjustifiedRefusal(known: ProcessKnowledge, { command, answer }: DecisionStep): boolean {
  if (!isRefusal(answer)) return false
  switch (command.type) {
    case "Charge": {
      const { quantity, unitPriceMicros, amountMicros } = command
      const isProduct = quantity * unitPriceMicros === amountMicros
      if (answer.code === "bad_amount") return isProduct && quantity >= 0 && amountMicros >= 0
      if (answer.code === "search_again") return isKnownToBeNew(known, command.searchedUpTo)
      return limitFaults(known, command) === ""
    }
    case "RefundSettledCharge": {
      const { searchedUpTo, charge } = command
      if (answer.code !== "search_again" || !isKnownToBeNew(known, searchedUpTo)) return false
      return !known.facts.slice(searchedUpTo + 1).some((fact) => {
        return fact.type === "ChargeReduced" && fact.chargeId === charge.chargeId
      })
    }
    case "StartPurchase":
      return purchaseRefusalIn(known.facts, command, command.at) === null
    case "RecordApiCalls":
      return true
    default:
      return false
  }
}

/** Whether so few names were used since the search that the ledger remembers all of them. */
function isKnownToBeNew({ facts }: ProcessKnowledge, searchedTo: number | null): boolean {
  const since = facts.slice((searchedTo ?? -1) + 1)
  return since.filter((fact) => nameUsedBy(fact) !== null).length <= MAX_REMEMBERED_NAMES
}
