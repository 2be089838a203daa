/** Laws 1 and 2: what is accepted fits, and what fits is accepted. */
import type { Charge } from "../../domain/charging/ledger-commands.ts"
import type { ApiCallsCounted, Charged } from "../../domain/charging/ledger-formats.ts"
import type { Stamp } from "../../domain/kernel/decider.ts"
import { isRefusal } from "../../domain/kernel/decider.ts"
import { type Law, knownAt, show } from "./law.ts"
import { callFaultIn } from "./plain-calls.ts"
import type { Known } from "./plain-facts.ts"
import { applyingTo, creditLineIn, fundsIn, hasRoom, isLast, readingOf } from "./plain-facts.ts"
import { nameUsedBy } from "./plain-names.ts"
import { purchaseFaultIn } from "./plain-purchases.ts"
import { touchedBy } from "./plain-reminders.ts"
import type { Decided } from "./play.ts"
import { factsOf } from "./subject.ts"

/** Every reason that stands against a charge, in words; empty where it fits. */
function against(known: Known, charge: Charged | (Charge & Stamp)): string {
  const { at, amountMicros, exemption } = charge
  const full = applyingTo(known, charge, at, amountMicros).filter((limit) => !hasRoom(limit))
  const own = fundsIn(known.facts)
  const funds = own + creditLineIn(known.facts)
  const isAsked = exemption === null || (exemption === "funds_while_above_zero" && own <= 0)
  const isShort = isAsked && amountMicros > 0 && amountMicros > funds
  return [
    ...full.map((limit) => `the ${limit.holder}'s ${limit.period} holds ${limit.remainingMicros}`),
    ...(isShort ? [`funds are ${funds}`] : []),
    ...(isLast(known.facts, "AccountLocked", "AccountUnlocked") ? ["the account is locked"] : []),
    ...(isLast(known.facts, "LedgerClosed", "LedgerReopened") ? ["the ledger is closed"] : []),
  ].join(", ")
}

/** What is wrong with the mark of recorded calls; empty where they pass a limit as it says. */
function wrongMark(known: Known, counted: ApiCallsCounted): string {
  const after = { ...known, facts: [...known.facts, counted] }
  const passed = touchedBy(known.facts, counted).filter((limit) => {
    return readingOf(after, limit, counted.at, 0).usedMicros > limit.amountMicros
  })
  if (counted.exemption === null) return passed.map(({ holder }) => `passes the ${holder}'s`).join()
  return passed.length === 0 ? "is exempt from limits that it does not pass" : ""
}

/**
 * 1. No charge is accepted that does not fit the funds and every limit then in force, but for what
 * is exempt and says so; no call is served, and no purchase begun, that does not fit.
 */
export const everyChargeFits: Law = (trace) => {
  for (const step of trace.steps) {
    if (step.does === "serve") {
      const fault = callFaultIn(knownAt(trace, step), step.call, step.at)
      if (step.answer === null && fault !== null) return `served a call in spite of ${show(fault)}`
      continue
    }
    for (const [i, fact] of factsOf(step.answer).entries()) {
      const known = knownAt(trace, step, i)
      const isNightly = fact.type === "Charged" && fact.isAlreadyCounted
      if (isNightly && fact.exemption !== "funds") return `weighed before, and asks: ${show(fact)}`
      if (fact.type === "Charged" && !isNightly) {
        const reasons = against(known, fact)
        if (reasons !== "") return `charged although ${reasons}: ${show(fact)}`
      }
      const mark = fact.type === "ApiCallsCounted" ? wrongMark(known, fact) : ""
      if (mark !== "") return `${mark}: ${show(fact)}`
      if (fact.type === "PurchaseStarted" && step.command.type === "StartPurchase") {
        const code = purchaseFaultIn(known.facts, step.command, step.at)
        if (code !== null) return `began to buy in spite of ${code}: ${show(fact)}`
      }
    }
  }
  return null
}

/** 1, of calls: only what another process records can make gathered calls pass a limit. */
export const callsPassNothingAlone: Law = ({ steps, facts }) => {
  if (steps.some(({ on }) => on === 1)) return null
  const passing = facts.find((fact) => fact.type === "ApiCallsCounted" && fact.exemption !== null)
  return passing === undefined ? null : `passes a limit alone: ${show(passing)}`
}

/** 2. Nothing is refused that fits. */
export const nothingThatFitsIsRefused: Law = (trace) => {
  for (const step of trace.steps) {
    if (step.does === "serve") {
      const fault = callFaultIn(knownAt(trace, step), step.call, step.at)
      if (step.answer !== null && fault === null) return `refused a call: ${show(step.answer)}`
      continue
    }
    if (isRefusal(step.answer) && isWithoutReason(knownAt(trace, step), step)) {
      return `refused without a reason: ${show(step.answer)}`
    }
  }
  return null
}

const MOST_NAMES = 256

function isWithoutReason(known: Known, { command, answer }: Decided): boolean {
  if (!isRefusal(answer)) return false
  switch (command.type) {
    case "Charge": {
      const { quantity, unitPriceMicros, amountMicros } = command
      const isProduct = quantity * unitPriceMicros === amountMicros
      if (answer.code === "bad_amount") return isProduct && quantity >= 0 && amountMicros >= 0
      if (answer.code === "search_again") return isKnownToBeNew(known, command.searchedTo)
      return against(known, command) === ""
    }
    case "GiveBackEnded": {
      const { searchedTo, charge } = command
      if (answer.code !== "search_again" || !isKnownToBeNew(known, searchedTo)) return false
      return !known.facts.slice(searchedTo + 1).some((fact) => {
        return fact.type === "ChargeReduced" && fact.chargeId === charge.chargeId
      })
    }
    case "StartPurchase":
      return purchaseFaultIn(known.facts, command, command.at) === null
    case "RecordCalls":
      return true
    default:
      return false
  }
}

/** Whether so few names were used since the search that all of them are remembered. */
function isKnownToBeNew({ facts }: Known, searchedTo: number | null): boolean {
  const since = facts.slice((searchedTo ?? -1) + 1)
  return since.filter((fact) => nameUsedBy(fact) !== null).length <= MOST_NAMES
}
