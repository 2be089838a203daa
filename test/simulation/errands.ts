/** What callers want of the processes, drawn from the seed. */
import type { AccessCommand } from "../../domain/access/access.ts"
import type { LedgerCommand } from "../../domain/charging/ledger-commands.ts"
import type { Limit, Spender, SpendingClass } from "../../domain/charging/limits.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { CALLERS, NAMES, SPENDERS } from "../charging/turns.ts"
import type { Chance } from "./chance.ts"

/** A charge under an id that its caller chose. */
export interface ChargeErrand {
  readonly does: "charge"
  readonly companyId: CompanyId
  readonly chargeId: string
  readonly spender: Spender
  readonly class: SpendingClass
  readonly amountMicros: number
}

/** A text, under an idempotency key. */
export interface TextErrand {
  readonly does: "text"
  readonly companyId: CompanyId
  readonly name: string
  readonly spender: (typeof CALLERS)[number]
  readonly to: string
  readonly body: string
}

/** What a caller wants. */
export type Errand =
  | ChargeErrand
  | TextErrand
  | {
      readonly does: "calls"
      readonly companyId: CompanyId
      readonly caller: (typeof CALLERS)[number]
      readonly count: number
    }
  | { readonly does: "look"; readonly companyId: CompanyId; readonly isLatest: boolean }
  /** A command that may be given again until it is known to be done. */
  | { readonly does: "arrange"; readonly companyId: CompanyId; readonly command: LedgerCommand }
  /** A command that is given once, whatever comes of it. */
  | {
      readonly does: "arrange once"
      readonly companyId: CompanyId
      readonly command: LedgerCommand
    }
  /** The same of who may do what in a company. */
  | { readonly does: "key"; readonly companyId: CompanyId; readonly command: AccessCommand }
  /** Small sums are added to the funds by many at once, one after the other by each. */
  | {
      readonly does: "pour"
      readonly companyId: CompanyId
      readonly hands: number
      readonly times: number
    }
  /** An operator gives one of the charges back that were made before. */
  | { readonly does: "give back"; readonly companyId: CompanyId; readonly place: number }

const NUMBERS = ["+14155550123", "+14155550124", "+14155550125"]
const LONG = "a text that is longer than one segment ".repeat(6)

/** Draws an errand; `name` is like no other's. */
export function drawErrand(chance: Chance, companies: readonly CompanyId[], name: string): Errand {
  const companyId = chance.pick(companies)
  const roll = chance.below(100)
  if (roll < 30) {
    return {
      does: "charge",
      companyId,
      chargeId: `run-${name}`,
      spender: chance.pick(SPENDERS),
      class: chance.pick(["ai", "general"]),
      amountMicros: chance.pick([0, 1_000, 5_000, 9_000, chance.between(1, 30_000)]),
    }
  }
  if (roll < 52) {
    const body = chance.pick(["hello", LONG])
    const spender = chance.pick(CALLERS)
    return { does: "text", companyId, name, spender, to: chance.pick(NUMBERS), body }
  }
  if (roll < 68) {
    return { does: "calls", companyId, caller: chance.pick(CALLERS), count: chance.between(1, 5) }
  }
  if (roll < 70) {
    return { does: "pour", companyId, hands: chance.between(3, 6), times: chance.between(2, 4) }
  }
  if (roll < 76) return { does: "look", companyId, isLatest: chance.happens(0.3) }
  if (roll < 82) return { does: "give back", companyId, place: chance.below(20) }
  if (roll < 85) return { does: "key", companyId, command: drawKey(chance) }
  if (roll < 91) return { does: "arrange once", companyId, command: drawOnce(chance) }
  return { does: "arrange", companyId, command: drawArrangement(chance, name) }
}

function drawKey(chance: Chance): AccessCommand {
  const keyId = chance.pick(["key_a1", "key_b1"] as const)
  const type = chance.pick(["PauseKey", "ResumeKey"] as const)
  return chance.pick<AccessCommand>([
    { type: "CreateKey", keyId, personId: null, keyHash: keyId, operations: [], label: null },
    { type, keyId },
  ])
}

/** Commands that would do it a second time. */
function drawOnce(chance: Chance): LedgerCommand {
  const amountMicros = chance.between(1, 20_000)
  return chance.pick<LedgerCommand>([
    { type: "AddFunds", amountMicros, reference: null },
    { type: "CorrectFunds", amountMicros: -amountMicros, reason: "a correction" },
    { type: "AddFunds", amountMicros: 2 * amountMicros, reference: null },
    { type: "SetFundsNotice", belowMicros: 2 * amountMicros },
    { type: "LockAccount" },
    { type: "UnlockAccount" },
  ])
}

function drawArrangement(chance: Chance, name: string): LedgerCommand {
  const roll = chance.below(10)
  if (roll < 2) {
    const amountMicros = chance.between(1_000, 60_000)
    return { type: "AddFunds", amountMicros, reference: `invoice ${name}` }
  }
  if (roll < 4) return { type: "UnlockAccount" }
  if (roll < 8) {
    const keyId = chance.pick(["key_a1", "key_app"] as const)
    const purchaseId = `pur_${chance.below(2)}` as const
    return chance.pick<LedgerCommand>([
      { type: "StartPurchase", purchaseId, keyId, personId: null, amountMicros: 5_000_000 },
      { type: "StartPurchase", purchaseId, keyId, personId: null, amountMicros: 5_000_000 },
      { type: "OrderPurchase", purchaseId, paymentId: `pay ${purchaseId}` },
      { type: "PayPurchase", purchaseId, paymentId: `pay ${purchaseId}` },
      { type: "PayPurchase", purchaseId, paymentId: `pay ${purchaseId}` },
      { type: "FailPurchase", purchaseId, code: "declined", paymentId: null },
    ])
  }
  return { type: "SetLimit", ...drawLimit(chance) }
}

/** Draws a limit that what callers want comes up to soon. */
export function drawLimit(chance: Chance): Limit {
  const name = chance.pick(NAMES)
  const periods = name.holder === "key" ? ["day", "week", "month"] : ["week", "month"]
  const amountMicros = chance.pick([0, 4_000, 20_000, 60_000, 200_000])
  return {
    ...name,
    period: chance.pick(periods as Limit["period"][]),
    amountMicros,
    remindersMicros: chance.happens(0.4) ? [Math.ceil(amountMicros / 2) + 1] : [],
    leaveKeysOut: name.holder === "person" && chance.happens(0.3),
  }
}
