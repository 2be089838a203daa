/** Parses the words of a table's steps into commands. */
import type { ChargeCommand, LedgerCommand } from "../../domain/charging/ledger-commands.ts"
import type { LimitScope, Spender } from "../../domain/charging/limits.ts"
import { microsFromDollars } from "../../domain/kernel/money.ts"
import type { Period } from "../../domain/kernel/window.ts"
import { parseKeyId, parsePersonId, parsePurchaseId, parseStored } from "../../domain/kernel/ids.ts"
import { CHARGE_REQUEST } from "./ledger-facts.ts"
import type { LedgerFacts } from "./reference-views.ts"
import { lastChargeOf, unrefundedAmountIn } from "./reference-views.ts"

/** Parses an amount in dollars to micros. */
export const parseDollars = (text = ""): number => microsFromDollars(text) ?? Number.NaN

/** The command of a step. @throws Error if there is no such step */
export function parseTableCommand(step: string, words: readonly string[]): LedgerCommand {
  const [first = "", second = "", third = ""] = words
  switch (step) {
    case "funds":
      return { type: "AddFunds", amountMicros: parseDollars(first), reference: null }
    case "correct":
      return { type: "CorrectFunds", amountMicros: parseDollars(first), reason: "a table" }
    case "credit":
      return { type: "OpenLedger", prepaidOnly: false, creditLineMicros: parseDollars(first) }
    case "prepaid":
      return { type: "ChangeCreditTerms", prepaidOnly: true, creditLineMicros: 0 }
    case "lock":
    case "unlock":
      return { type: step === "lock" ? "LockAccount" : "UnlockAccount" }
    case "delete":
    case "undelete":
      return { type: step === "delete" ? "CloseLedger" : "ReopenLedger" }
    case "limit":
      return parseTableLimit(words)
    case "remove":
      return { type: "RemoveLimit", ...parseLimitName(words) }
    case "charge":
      return parseTableCharge(words)
    case "rent":
      return {
        ...parseTableCharge([first, "company", second]),
        isPending: false,
        exemption: "funds",
      }
    case "close":
      return { type: "SettleCharges", chargeIds: words }
    case "back": {
      const amountMicros = second === "" ? null : parseDollars(second)
      return { type: "RefundPendingCharge", chargeId: first, amountMicros, reason: "a table" }
    }
    case "night":
      return { type: "ChargeApiCalls", maxCharges: 1_000 }
    case "may": {
      const terms = { perPurchaseMicros: parseDollars(second), perMonthMicros: parseDollars(third) }
      return {
        type: "SetPurchaseTerms",
        keyId: parseStored(parseKeyId, first),
        mode: "on",
        ...terms,
      }
    }
    case "buy": {
      const purchaseId = parseStored(parsePurchaseId, first)
      const purchase = { purchaseId, keyId: parseStored(parseKeyId, second), personId: null }
      return { type: "StartPurchase", ...purchase, amountMicros: parseDollars(third) }
    }
    case "paid":
      return {
        type: "PayPurchase",
        purchaseId: parseStored(parsePurchaseId, first),
        paymentId: "a table",
      }
    case "failed":
      return {
        type: "FailPurchase",
        purchaseId: parseStored(parsePurchaseId, first),
        code: "declined",
        paymentId: null,
      }
    case "month":
      return { type: "CloseMonth" }
    default:
      throw new Error(`no such step: ${step} ${words.join(" ")}`)
  }
}

/** The charge of `<id> <who> <amount>`, which is pending. */
export function parseTableCharge(words: readonly string[]): ChargeCommand {
  const [chargeId = "", ...who] = words.slice(0, -1)
  const amountMicros = parseDollars(words.at(-1))
  return {
    type: "Charge",
    ...CHARGE_REQUEST,
    chargeId,
    ...parseSpender(who),
    unitPriceMicros: amountMicros,
    amountMicros,
    isPending: true,
    exemption: null,
    searchedUpTo: null,
  }
}

/** An operator's refund of an existing charge. @throws Error if there is no such charge */
export function operatorRefundCommand(
  facts: LedgerFacts,
  chargeId: string | undefined,
): LedgerCommand {
  const charged = lastChargeOf(facts, chargeId ?? "")
  if (charged === undefined) throw new Error("no such charge")
  const { via, keyId, personId, class: charging, item, resource, amountMicros } = charged
  const spent = {
    chargeId: charged.chargeId,
    via,
    keyId,
    personId,
    class: charging,
    item,
    resource,
    amountMicros,
  }
  const chargedAt = charged.isAlreadyCounted ? (charged.servedFrom ?? charged.at) : charged.at
  const whole = { amountMicros: null, reason: "a table" }
  return {
    type: "RefundSettledCharge",
    charge: { ...spent, countedAt: chargedAt },
    refundableMicros: unrefundedAmountIn(facts, charged),
    ...whole,
    searchedUpTo: facts.length - 1,
  }
}

/** `<holder> <class> <period> <amount>`, with optional `reminders <a>,<b>` and `no keys`. */
function parseTableLimit(words: readonly string[]): LedgerCommand {
  const place = words.indexOf("reminders")
  const reminders = place === -1 ? [] : (words[place + 1] ?? "").split(",")
  return {
    type: "SetLimit",
    ...parseLimitName(words),
    period: words[2] as Period,
    amountMicros: parseDollars(words[3]),
    remindersMicros: reminders.map(parseDollars),
    leaveKeysOut: words.includes("no"),
  }
}

/** `<holder> <class>`: a holder is `company`, a person or a key. */
export function parseLimitName([who = "", limited]: readonly string[]): LimitScope {
  const limitClass = limited as LimitScope["class"]
  if (who === "company") return { holder: "company", holderId: null, class: limitClass }
  const keyId = parseKeyId(who)
  if (keyId !== null) return { holder: "key", holderId: keyId, class: limitClass }
  return { holder: "person", holderId: parseStored(parsePersonId, who), class: limitClass }
}

/** `key_1 of per_1`, `key_app for per_1`, `key_app shared` or `company`. */
export function parseSpender([who = "", how, person]: readonly string[]): Spender {
  if (who === "company") return { via: "company", keyId: null, personId: null }
  const keyId = parseStored(parseKeyId, who)
  const personId = person === undefined ? null : parseStored(parsePersonId, person)
  if (how === "of" && personId !== null) return { via: "own_key", keyId, personId }
  return { via: "app_key", keyId, personId }
}
