/** The words of a table's steps, as commands. */
import type { Charge, LedgerCommand } from "../../domain/charging/ledger-commands.ts"
import type { LimitName, Spender } from "../../domain/charging/limits.ts"
import { microsFromDollars } from "../../domain/kernel/money.ts"
import type { Period } from "../../domain/kernel/window.ts"
import { parseKeyId, parsePersonId, parsePurchaseId, parsed } from "../../domain/kernel/ids.ts"
import { REQUEST } from "./ledger-facts.ts"
import type { Facts } from "./plain-facts.ts"
import { lastCharge, leftIn } from "./plain-facts.ts"

/** An amount in dollars, as micros. */
export const micros = (text = ""): number => microsFromDollars(text) ?? Number.NaN

/** The command of a step. @throws Error where there is no such step */
export function commandOf(step: string, words: readonly string[]): LedgerCommand {
  const [first = "", second = "", third = ""] = words
  switch (step) {
    case "funds":
      return { type: "AddFunds", amountMicros: micros(first), reference: null }
    case "correct":
      return { type: "CorrectFunds", amountMicros: micros(first), reason: "a table" }
    case "credit":
      return { type: "OpenLedger", prepaidOnly: false, creditLineMicros: micros(first) }
    case "prepaid":
      return { type: "ChangeTerms", prepaidOnly: true, creditLineMicros: 0 }
    case "lock":
    case "unlock":
      return { type: step === "lock" ? "LockAccount" : "UnlockAccount" }
    case "delete":
    case "undelete":
      return { type: step === "delete" ? "CloseLedger" : "ReopenLedger" }
    case "limit":
      return limitOf(words)
    case "remove":
      return { type: "RemoveLimit", ...nameOf(words) }
    case "charge":
      return chargeOf(words)
    case "rent":
      return { ...chargeOf([first, "company", second]), isPending: false, exemption: "funds" }
    case "close":
      return { type: "CloseCharges", chargeIds: words }
    case "back": {
      const amountMicros = second === "" ? null : micros(second)
      return { type: "GiveBack", chargeId: first, amountMicros, reason: "a table" }
    }
    case "night":
      return { type: "ChargeCalls", most: 1_000 }
    case "may": {
      const terms = { perPurchaseMicros: micros(second), perMonthMicros: micros(third) }
      return { type: "SetPurchaseTerms", keyId: parsed(parseKeyId, first), mode: "on", ...terms }
    }
    case "buy": {
      const purchaseId = parsed(parsePurchaseId, first)
      const purchase = { purchaseId, keyId: parsed(parseKeyId, second), personId: null }
      return { type: "StartPurchase", ...purchase, amountMicros: micros(third) }
    }
    case "paid":
      return {
        type: "PayPurchase",
        purchaseId: parsed(parsePurchaseId, first),
        paymentId: "a table",
      }
    case "failed":
      return {
        type: "FailPurchase",
        purchaseId: parsed(parsePurchaseId, first),
        code: "declined",
        paymentId: null,
      }
    case "month":
      return { type: "CloseMonth" }
    default:
      throw new Error(`no such step: ${step} ${words.join(" ")}`)
  }
}

/** The charge of `<id> <who> <amount>`: open, as most are. */
export function chargeOf(words: readonly string[]): Charge {
  const [chargeId = "", ...who] = words.slice(0, -1)
  const amountMicros = micros(words.at(-1))
  return {
    type: "Charge",
    ...REQUEST,
    chargeId,
    ...spenderOf(who),
    unitPriceMicros: amountMicros,
    amountMicros,
    isPending: true,
    exemption: null,
    searchedTo: null,
  }
}

/** Refunds a charge as an operator does who has just looked it up. @throws Error where it is none */
export function backByHand(facts: Facts, chargeId: string | undefined): LedgerCommand {
  const charged = lastCharge(facts, chargeId ?? "")
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
    type: "GiveBackEnded",
    charge: { ...spent, countedAt: chargedAt },
    leftMicros: leftIn(facts, charged),
    ...whole,
    searchedTo: facts.length - 1,
  }
}

/** `<holder> <class> <period> <amount>`, and perhaps `reminders <a>,<b>` and `no keys`. */
function limitOf(words: readonly string[]): LedgerCommand {
  const place = words.indexOf("reminders")
  const reminders = place === -1 ? [] : (words[place + 1] ?? "").split(",")
  return {
    type: "SetLimit",
    ...nameOf(words),
    period: words[2] as Period,
    amountMicros: micros(words[3]),
    remindersMicros: reminders.map(micros),
    leaveKeysOut: words.includes("no"),
  }
}

/** `<holder> <class>`: a holder is `company`, a person or a key. */
export function nameOf([who = "", limited]: readonly string[]): LimitName {
  const limitClass = limited as LimitName["class"]
  if (who === "company") return { holder: "company", holderId: null, class: limitClass }
  const keyId = parseKeyId(who)
  if (keyId !== null) return { holder: "key", holderId: keyId, class: limitClass }
  return { holder: "person", holderId: parsed(parsePersonId, who), class: limitClass }
}

/** `key_1 of per_1`, `key_app for per_1`, `key_app shared` or `company`. */
export function spenderOf([who = "", how, person]: readonly string[]): Spender {
  if (who === "company") return { via: "company", keyId: null, personId: null }
  const keyId = parsed(parseKeyId, who)
  const personId = person === undefined ? null : parsed(parsePersonId, person)
  if (how === "of" && personId !== null) return { via: "own_key", keyId, personId }
  return { via: "app_key", keyId, personId }
}
