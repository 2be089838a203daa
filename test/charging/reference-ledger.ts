/**
 * The reference ledger: a second, plain ledger, written from the rules, whose state is the list of its facts
 * (`reference-views.ts`). It has no limit for exact sums; the histories it judges stay far below.
 */
import type {
  AddFunds,
  LedgerCommand,
  LedgerRefusal,
  RecordApiCalls,
  SetLimit,
} from "../../domain/charging/ledger-commands.ts"
import type { ApiCallsCounted, LedgerEvent } from "../../domain/charging/ledger-events.ts"
import type { Limit } from "../../domain/charging/limits.ts"
import type { DecisionStamp } from "../../domain/kernel/decider.ts"
import type { Micros } from "../../domain/kernel/money.ts"
import { dueCallCharges, lastChargedDay, callPriceOn } from "./reference-calls.ts"
import type { LedgerFacts, ProcessKnowledge, ReferenceRules } from "./reference-views.ts"
import {
  REFERENCE_RULES,
  isSwitchedOn,
  isSameLimit,
  limitsIn,
  pendingChargesIn,
  limitReadingOf,
  windowStartOf,
  termsIn,
} from "./reference-views.ts"
import { dueMonthClosings } from "./reference-months.ts"
import { withLowFundsAlerts, referenceSetAlert } from "./reference-alerts.ts"
import { purchaseTermsIn } from "./reference-purchase-views.ts"
import { remindersAfter, limitsAffectedBy } from "./reference-reminders.ts"
import {
  referenceCharge,
  referenceRefund,
  referenceOperatorRefund,
  ledgerRefused,
} from "./reference-charge.ts"
import { referencePurchase } from "./reference-purchase.ts"

/** A ledger's answer: facts, or a refusal. */
export type LedgerAnswer = readonly LedgerEvent[] | LedgerRefusal

const NO_HASH = "0".repeat(64)
const MAX_AMOUNT = 9_000_000_000_000_000

/** Decides a command from the facts; past months are closed first. */
export function decideByReference(
  known: ProcessKnowledge,
  command: LedgerCommand & DecisionStamp,
  rules: ReferenceRules = REFERENCE_RULES,
): LedgerAnswer {
  const closed = isSwitchedOn(known.facts, "LedgerClosed", "LedgerReopened")
  const answer =
    closed && ARRANGEMENTS.has(command.type)
      ? ledgerRefused(command.at, "ledger_closed")
      : decideInMonth(known, command, rules)
  if (!Array.isArray(answer)) return answer
  if (answer.length === 0 && command.type !== "CloseMonth") return []
  const facts = withLowFundsAlerts(known.facts, answer as LedgerFacts)
  return [...dueMonthClosings(known.facts, command.at, command.headHash ?? NO_HASH), ...facts]
}

/** Commands that a deleted company's ledger refuses. */
const ARRANGEMENTS = new Set<LedgerCommand["type"]>([
  "ChangeCreditTerms",
  "AddFunds",
  "SetLimit",
  "RemoveLimit",
  "SetPurchaseTerms",
  "SetLowFundsAlert",
])

function decideInMonth(
  known: ProcessKnowledge,
  command: LedgerCommand & DecisionStamp,
  rules: ReferenceRules,
): LedgerAnswer {
  const { facts } = known
  const { at } = command
  switch (command.type) {
    case "Charge":
      return referenceCharge(known, command, rules)
    case "RefundPendingCharge":
      return referenceRefund(facts, command)
    case "RefundSettledCharge":
      return referenceOperatorRefund(facts, command)
    case "SettleCharges": {
      const open = pendingChargesIn(facts)
      const chargeIds = command.chargeIds.filter((id, i, all) => {
        return open.includes(id) && all.indexOf(id) === i
      })
      return chargeIds.length === 0 ? [] : [{ type: "ChargesSettled", at, chargeIds }]
    }
    case "RecordApiCalls":
      return recordCalls(known, command, rules)
    case "ChargeApiCalls":
      return dueCallCharges(facts, at, command.maxCharges)
    case "StartPurchase":
    case "OrderPurchase":
    case "PayPurchase":
    case "FailPurchase":
      return referencePurchase(facts, command)
    case "CloseMonth":
      return []
    case "LockAccount":
      return decideSwitch(facts, at, "AccountLocked", "AccountUnlocked")
    case "UnlockAccount":
      return decideSwitch(facts, at, "AccountUnlocked", "AccountLocked")
    case "CloseLedger":
      return decideSwitch(facts, at, "LedgerClosed", "LedgerReopened")
    case "ReopenLedger":
      return isErasing(facts)
        ? { type: "LedgerRefused", at, code: "company_erased", message: "" }
        : decideSwitch(facts, at, "LedgerReopened", "LedgerClosed")
    case "StartErasure":
      return beginErasure(facts, at)
    default:
      return changeAccount(facts, command)
  }
}

const FORTNIGHT = 14 * 86_400_000

function isErasing(facts: LedgerFacts): boolean {
  return facts.some(({ type }) => type === "ErasureStarted")
}

function beginErasure(facts: LedgerFacts, at: number): LedgerAnswer {
  if (isErasing(facts)) return []
  const last = facts.findLast(({ type }) => type === "LedgerClosed" || type === "LedgerReopened")
  const isDue = last?.type === "LedgerClosed" && at - last.at >= FORTNIGHT
  if (isDue) return [{ type: "ErasureStarted", at }]
  return { type: "LedgerRefused", at, code: "not_deleted", message: "" }
}

type SwitchFact = "AccountLocked" | "AccountUnlocked" | "LedgerClosed" | "LedgerReopened"

/** Turns a switch on or off; records nothing if it is already so. */
function decideSwitch(
  facts: LedgerFacts,
  at: number,
  target: SwitchFact,
  other: SwitchFact,
): LedgerAnswer {
  const first = target === "AccountLocked" || target === "LedgerClosed"
  const isAlreadySet = first
    ? isSwitchedOn(facts, target, other)
    : !isSwitchedOn(facts, other, target)
  return isAlreadySet ? [] : [{ type: target, at }]
}

type AccountCommand = Extract<
  LedgerCommand & DecisionStamp,
  {
    type:
      | "OpenLedger"
      | "ChangeCreditTerms"
      | "AddFunds"
      | "CorrectFunds"
      | "SetLimit"
      | "RemoveLimit"
      | "SetPurchaseTerms"
      | "SetLowFundsAlert"
  }
>

/** Decides changes of the account by people and operators. */
function changeAccount(facts: LedgerFacts, command: AccountCommand): LedgerAnswer {
  const { at } = command
  switch (command.type) {
    case "OpenLedger": {
      const { prepaidOnly, creditLineMicros } = command
      if (facts.some(({ type }) => type === "LedgerOpened")) return []
      if (!isAmount(creditLineMicros)) return ledgerRefused(at, "bad_amount")
      return [{ type: "LedgerOpened", at, prepaidOnly, creditLineMicros }]
    }
    case "ChangeCreditTerms": {
      const { prepaidOnly, creditLineMicros } = command
      if (!isAmount(creditLineMicros)) return ledgerRefused(at, "bad_amount")
      const terms = termsIn(facts)
      const isSame =
        terms.prepaidOnly === prepaidOnly && terms.creditLineMicros === creditLineMicros
      return isSame ? [] : [{ type: "TermsChanged", at, prepaidOnly, creditLineMicros }]
    }
    case "AddFunds":
      return addFunds(facts, command)
    case "CorrectFunds": {
      const { amountMicros, reason } = command
      const isChange = isAmount(Math.abs(amountMicros)) && amountMicros !== 0
      return isChange
        ? [{ type: "FundsCorrected", at, amountMicros, reason }]
        : ledgerRefused(at, "bad_amount")
    }
    case "SetLowFundsAlert":
      return referenceSetAlert(facts, command)
    case "SetLimit":
      return setLimit(facts, command)
    case "RemoveLimit": {
      const { holder, holderId, class: limited } = command
      const isKnown = limitsIn(facts).some((limit) => isSameLimit(limit, command))
      if (!isKnown) return ledgerRefused(at, "no_such_limit")
      return [{ type: "LimitRemoved", at, holder, holderId, class: limited }]
    }
    case "SetPurchaseTerms": {
      const { keyId, mode, perPurchaseMicros, perMonthMicros } = command
      if (!isAmount(perPurchaseMicros) || !isAmount(perMonthMicros)) {
        return ledgerRefused(at, "bad_amount")
      }
      const terms = { mode, perPurchaseMicros, perMonthMicros }
      const former = purchaseTermsIn(facts, keyId)
      if (JSON.stringify(former) === JSON.stringify(terms)) return []
      return [{ type: "PurchaseTermsSet", at, keyId, ...terms }]
    }
  }
}

function isAmount(amount: Micros): boolean {
  return Number.isInteger(amount) && amount >= 0 && amount <= MAX_AMOUNT
}

function addFunds(
  facts: LedgerFacts,
  { at, amountMicros, reference }: AddFunds & DecisionStamp,
): LedgerAnswer {
  const isKnown = facts.some((fact) => {
    return fact.type === "FundsAdded" && fact.reference === reference && reference !== null
  })
  if (isKnown) return []
  if (!isAmount(amountMicros) || amountMicros === 0) return ledgerRefused(at, "bad_amount")
  return [{ type: "FundsAdded", at, amountMicros, reference }]
}

const PERIODS_OF = {
  company: ["week", "month"],
  person: ["week", "month"],
  key: ["day", "week", "month"],
}

function setLimit(facts: LedgerFacts, command: SetLimit & DecisionStamp): LedgerAnswer {
  const { at, holder, holderId, period, amountMicros, remindersMicros, leaveKeysOut } = command
  const isLegal =
    (holder === "company") === (holderId === null) &&
    (holder === "key" ? ["all"] : ["ai", "general"]).includes(command.class) &&
    PERIODS_OF[holder].includes(period) &&
    isAmount(amountMicros) &&
    remindersMicros.every((amount) => isAmount(amount) && amount > 0) &&
    (holder === "person" || !leaveKeysOut)
  if (!isLegal) return ledgerRefused(at, "bad_limit")
  const limit = { holder, holderId, class: command.class, period, amountMicros }
  const next: Limit = { ...limit, remindersMicros, leaveKeysOut }
  const former = limitsIn(facts).find((one) => isSameLimit(one, command))
  if (JSON.stringify(comparableLimit(former)) === JSON.stringify(comparableLimit(next))) return []
  return [{ type: "LimitSet", at, ...next }]
}

function comparableLimit(limit: Limit | undefined): unknown {
  return [limit?.period, limit?.amountMicros, limit?.remindersMicros, limit?.leaveKeysOut]
}

function recordCalls(
  known: ProcessKnowledge,
  command: RecordApiCalls & DecisionStamp,
  rules: ReferenceRules,
): LedgerAnswer {
  const { facts } = known
  const { at, counters } = command
  if (counters.length === 0) return []
  if (counters.some(({ calls }) => !Number.isInteger(calls) || calls <= 0)) {
    return ledgerRefused(at, "bad_calls")
  }
  // Calls of a day that was already charged count for the current day.
  const isCharged = command.day <= lastChargedDay(facts)
  const day = isCharged ? windowStartOf("day", at, rules) : command.day
  const price = callPriceOn(known, command, day)
  const counted = {
    type: "ApiCallsCounted",
    at,
    day,
    ...price,
    counters,
    exemption: null,
  } as const
  const passed = isExceededBy({ ...known, facts: [...facts, counted] }, counted, rules)
  const fact = { ...counted, exemption: passed ? ("limits" as const) : null }
  return [fact, ...remindersAfter(known, fact, rules)]
}

/** Whether these calls exceed a limit that counts them. */
function isExceededBy(
  after: ProcessKnowledge,
  counted: ApiCallsCounted,
  rules: ReferenceRules,
): boolean {
  return limitsAffectedBy(after.facts, counted).some((limit) => {
    return limitReadingOf(after, limit, counted.at, 0, rules).usedMicros > limit.amountMicros
  })
}
