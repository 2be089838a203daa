/**
 * A plain second ledger, written from the rules and not from the first one: its state is the list of
 * its facts (see `plain-facts.ts`).
 *
 * It knows no bound of exact arithmetic: the histories it judges stay far below.
 */
import type {
  AddFunds,
  LedgerCommand,
  LedgerRefusal,
  RecordCalls,
  SetLimit,
} from "../../domain/charging/ledger-commands.ts"
import type { ApiCallsCounted, LedgerEvent } from "../../domain/charging/ledger-formats.ts"
import type { Limit } from "../../domain/charging/limits.ts"
import type { Stamp } from "../../domain/kernel/decider.ts"
import type { Micros } from "../../domain/kernel/money.ts"
import { callChargesDue, chargedThrough, priceOn } from "./plain-calls.ts"
import type { Facts, Known, Rules } from "./plain-facts.ts"
import {
  RULES,
  isLast,
  isSameName,
  limitsIn,
  openIn,
  readingOf,
  startOf,
  termsIn,
} from "./plain-facts.ts"
import { closingsDue } from "./plain-months.ts"
import { noticed, referenceNotice } from "./plain-notices.ts"
import { purchaseTermsIn } from "./plain-purchases.ts"
import { remindersAfter, touchedBy } from "./plain-reminders.ts"
import {
  referenceCharge,
  referenceGiveBack,
  referenceGiveBackEnded,
  refused,
} from "./reference-charge.ts"
import { referencePurchase } from "./reference-purchase.ts"

/** What a ledger answers: facts, or a no. */
export type Answer = readonly LedgerEvent[] | LedgerRefusal

const NO_HASH = "0".repeat(64)
const MAX_AMOUNT = 9_000_000_000_000_000

/** What the facts say to a command. The months that are over are closed before anything else. */
export function decideByReference(
  known: Known,
  command: LedgerCommand & Stamp,
  rules: Rules = RULES,
): Answer {
  const closed = isLast(known.facts, "LedgerClosed", "LedgerReopened")
  const answer =
    closed && ARRANGEMENTS.has(command.type)
      ? refused(command.at, "ledger_closed")
      : decideInMonth(known, command, rules)
  if (!Array.isArray(answer)) return answer
  if (answer.length === 0 && command.type !== "CloseMonth") return []
  const facts = noticed(known.facts, answer as Facts)
  return [...closingsDue(known.facts, command.at, command.headHash ?? NO_HASH), ...facts]
}

/** What a deleted company can no longer arrange. */
const ARRANGEMENTS = new Set<LedgerCommand["type"]>([
  "ChangeTerms",
  "AddFunds",
  "SetLimit",
  "RemoveLimit",
  "SetPurchaseTerms",
  "SetFundsNotice",
])

function decideInMonth(known: Known, command: LedgerCommand & Stamp, rules: Rules): Answer {
  const { facts } = known
  const { at } = command
  switch (command.type) {
    case "Charge":
      return referenceCharge(known, command, rules)
    case "GiveBack":
      return referenceGiveBack(facts, command)
    case "GiveBackEnded":
      return referenceGiveBackEnded(facts, command)
    case "CloseCharges": {
      const open = openIn(facts)
      const chargeIds = command.chargeIds.filter((id, i, all) => {
        return open.includes(id) && all.indexOf(id) === i
      })
      return chargeIds.length === 0 ? [] : [{ type: "ChargesSettled", at, chargeIds }]
    }
    case "RecordCalls":
      return recordCalls(known, command, rules)
    case "ChargeCalls":
      return callChargesDue(facts, at, command.most)
    case "StartPurchase":
    case "OrderPurchase":
    case "PayPurchase":
    case "FailPurchase":
      return referencePurchase(facts, command)
    case "CloseMonth":
      return []
    case "LockAccount":
      return turn(facts, at, "AccountLocked", "AccountUnlocked")
    case "UnlockAccount":
      return turn(facts, at, "AccountUnlocked", "AccountLocked")
    case "CloseLedger":
      return turn(facts, at, "LedgerClosed", "LedgerReopened")
    case "ReopenLedger":
      return isErasing(facts)
        ? { type: "LedgerRefused", at, code: "company_erased", message: "" }
        : turn(facts, at, "LedgerReopened", "LedgerClosed")
    case "BeginErasure":
      return beginErasure(facts, at)
    default:
      return arrange(facts, command)
  }
}

const FORTNIGHT = 14 * 86_400_000

function isErasing(facts: Facts): boolean {
  return facts.some(({ type }) => type === "ErasureStarted")
}

function beginErasure(facts: Facts, at: number): Answer {
  if (isErasing(facts)) return []
  const last = facts.findLast(({ type }) => type === "LedgerClosed" || type === "LedgerReopened")
  const isDue = last?.type === "LedgerClosed" && at - last.at >= FORTNIGHT
  if (isDue) return [{ type: "ErasureStarted", at }]
  return { type: "LedgerRefused", at, code: "not_deleted", message: "" }
}

type Switch = "AccountLocked" | "AccountUnlocked" | "LedgerClosed" | "LedgerReopened"

/** Turns something on that is off; what was never turned off is neither. */
function turn(facts: Facts, at: number, wanted: Switch, other: Switch): Answer {
  const first = wanted === "AccountLocked" || wanted === "LedgerClosed"
  const isSo = first ? isLast(facts, wanted, other) : !isLast(facts, other, wanted)
  return isSo ? [] : [{ type: wanted, at }]
}

type Arranging = Extract<
  LedgerCommand & Stamp,
  {
    type:
      | "OpenLedger"
      | "ChangeTerms"
      | "AddFunds"
      | "CorrectFunds"
      | "SetLimit"
      | "RemoveLimit"
      | "SetPurchaseTerms"
      | "SetFundsNotice"
  }
>

/** What people and operators arrange. */
function arrange(facts: Facts, command: Arranging): Answer {
  const { at } = command
  switch (command.type) {
    case "OpenLedger": {
      const { prepaidOnly, creditLineMicros } = command
      if (facts.some(({ type }) => type === "LedgerOpened")) return []
      if (!isAmount(creditLineMicros)) return refused(at, "bad_amount")
      return [{ type: "LedgerOpened", at, prepaidOnly, creditLineMicros }]
    }
    case "ChangeTerms": {
      const { prepaidOnly, creditLineMicros } = command
      if (!isAmount(creditLineMicros)) return refused(at, "bad_amount")
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
        : refused(at, "bad_amount")
    }
    case "SetFundsNotice":
      return referenceNotice(facts, command)
    case "SetLimit":
      return setLimit(facts, command)
    case "RemoveLimit": {
      const { holder, holderId, class: limited } = command
      const isKnown = limitsIn(facts).some((limit) => isSameName(limit, command))
      if (!isKnown) return refused(at, "no_such_limit")
      return [{ type: "LimitRemoved", at, holder, holderId, class: limited }]
    }
    case "SetPurchaseTerms": {
      const { keyId, mode, perPurchaseMicros, perMonthMicros } = command
      if (!isAmount(perPurchaseMicros) || !isAmount(perMonthMicros)) {
        return refused(at, "bad_amount")
      }
      const wanted = { mode, perPurchaseMicros, perMonthMicros }
      const former = purchaseTermsIn(facts, keyId)
      if (JSON.stringify(former) === JSON.stringify(wanted)) return []
      return [{ type: "PurchaseTermsSet", at, keyId, ...wanted }]
    }
  }
}

function isAmount(amount: Micros): boolean {
  return Number.isInteger(amount) && amount >= 0 && amount <= MAX_AMOUNT
}

function addFunds(facts: Facts, { at, amountMicros, reference }: AddFunds & Stamp): Answer {
  const isKnown = facts.some((fact) => {
    return fact.type === "FundsAdded" && fact.reference === reference && reference !== null
  })
  if (isKnown) return []
  if (!isAmount(amountMicros) || amountMicros === 0) return refused(at, "bad_amount")
  return [{ type: "FundsAdded", at, amountMicros, reference }]
}

const PERIODS_OF = {
  company: ["week", "month"],
  person: ["week", "month"],
  key: ["day", "week", "month"],
}

function setLimit(facts: Facts, command: SetLimit & Stamp): Answer {
  const { at, holder, holderId, period, amountMicros, remindersMicros, leaveKeysOut } = command
  const isLegal =
    (holder === "company") === (holderId === null) &&
    (holder === "key" ? ["all"] : ["ai", "general"]).includes(command.class) &&
    PERIODS_OF[holder].includes(period) &&
    isAmount(amountMicros) &&
    remindersMicros.every((amount) => isAmount(amount) && amount > 0) &&
    (holder === "person" || !leaveKeysOut)
  if (!isLegal) return refused(at, "bad_limit")
  const limit = { holder, holderId, class: command.class, period, amountMicros }
  const wanted: Limit = { ...limit, remindersMicros, leaveKeysOut }
  const former = limitsIn(facts).find((one) => isSameName(one, command))
  if (JSON.stringify(shape(former)) === JSON.stringify(shape(wanted))) return []
  return [{ type: "LimitSet", at, ...wanted }]
}

function shape(limit: Limit | undefined): unknown {
  return [limit?.period, limit?.amountMicros, limit?.remindersMicros, limit?.leaveKeysOut]
}

function recordCalls(known: Known, command: RecordCalls & Stamp, rules: Rules): Answer {
  const { facts } = known
  const { at, counters } = command
  if (counters.length === 0) return []
  if (counters.some(({ calls }) => !Number.isInteger(calls) || calls <= 0)) {
    return refused(at, "bad_calls")
  }
  // A day that was charged stays as it was charged.
  const isCharged = command.day <= chargedThrough(facts)
  const day = isCharged ? startOf("day", at, rules) : command.day
  const price = priceOn(known, command, day)
  const counted = {
    type: "ApiCallsCounted",
    at,
    day,
    ...price,
    counters,
    exemption: null,
  } as const
  const passed = passedBy({ ...known, facts: [...facts, counted] }, counted, rules)
  const fact = { ...counted, exemption: passed ? ("limits" as const) : null }
  return [fact, ...remindersAfter(known, fact, rules)]
}

/** Whether a limit that counts these calls is passed once they are counted. */
function passedBy(after: Known, counted: ApiCallsCounted, rules: Rules): boolean {
  return touchedBy(after.facts, counted).some((limit) => {
    return readingOf(after, limit, counted.at, 0, rules).usedMicros > limit.amountMicros
  })
}
