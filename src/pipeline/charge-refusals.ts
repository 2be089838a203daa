/** Charges and limits that said no, as callers see them: who refused, what is left, and what helps. */
import { randomUUID } from "node:crypto"
import type { ChargeRefused } from "../../domain/charging/ledger-events.ts"
import type { LimitReading } from "../../domain/charging/limits.ts"
import { isUsedUp } from "../../domain/charging/limits.ts"
import type { Micros } from "../../domain/kernel/money.ts"
import { dollarText, dollarsFromMicros } from "../../domain/kernel/money.ts"
import type { Refusal } from "./refusal.ts"
import { refusal } from "./refusal.ts"
import type { Caller } from "./route.ts"

const LEAST_PURCHASE_DOLLARS = 5
const MOST_PURCHASE_DOLLARS = 5_000
const MICROS_PER_DOLLAR = 1_000_000
const OVERLOADED_RETRY_S = "5"

/** The answer to a charge that the ledger refused. */
export function chargeRefusal(refused: ChargeRefused, caller: Caller, baseUrl: string): Refusal {
  switch (refused.code) {
    case "spend_limit_reached":
      return limitRefusal(refused.limits[refused.refusedBy ?? 0] as LimitReading)
    case "payment_required":
      return paymentRefusal(refused, caller, baseUrl)
    case "account_locked":
      return lockedRefusal()
    case "ledger_closed":
      return refusal("invalid_key", "The company of this API key was deleted.")
    case "too_many_open_charges": {
      const message = "Too many charges of this company have not ended yet; send it again later."
      return { ...refusal("overloaded", message), headers: { "retry-after": OVERLOADED_RETRY_S } }
    }
    case "amount_too_large":
      return refusal("validation", "This costs more than can be charged.", { fields: {} })
  }
}

/** The answer where a limit is used up or what is asked does not fit. */
export function limitRefusal(limit: LimitReading): Refusal {
  // Only a key's own limit with nothing left is a refused key; everything else is a refused charge.
  const isDeadKey = limit.holder === "key" && isUsedUp(limit)
  const code = isDeadKey ? "invalid_key" : "spend_limit_reached"
  return refusal(code, limitMessage(limit), {
    limit: {
      holder: limit.holder,
      class: limit.class,
      period: limit.period,
      amountMicros: limit.amountMicros,
      usedMicros: limit.usedMicros,
      remainingMicros: limit.remainingMicros,
      askedMicros: limit.askedMicros,
      resetsAt: new Date(limit.resetsAt).toISOString(),
    },
  })
}

const HOLDERS = { company: "The company's", person: "The person's", key: "This key's own" } as const
const CLASSES = { ai: " AI", general: " general", all: "" } as const

function limitMessage(limit: LimitReading): string {
  const { amountMicros, usedMicros, remainingMicros, askedMicros, period } = limit
  const asked = askedMicros === 0 ? "" : `, and this costs $${dollarText(askedMicros)}`
  return (
    `${HOLDERS[limit.holder]}${CLASSES[limit.class]} limit of $${dollarText(amountMicros)} a ` +
    `${period} stops this: $${dollarText(usedMicros)} is used and $${dollarText(remainingMicros)} ` +
    `is left${asked}. It resets at ${new Date(limit.resetsAt).toISOString()}. ` +
    "Adding funds does not help."
  )
}

/** The answer while the account is locked for a missed payment. */
export function lockedRefusal(): Refusal {
  return refusal(
    "payment_required",
    "This company's account is locked for a missed payment; an owner must settle it.",
  )
}

function paymentRefusal(refused: ChargeRefused, caller: Caller, baseUrl: string): Refusal {
  const needed = refused.amountMicros
  const balance = refused.fundsMicros
  const message = `This costs $${dollarText(needed)} and the company has $${dollarText(balance)} of funds.`
  const sums = { needed: dollarsFromMicros(needed), balance: dollarsFromMicros(balance) }
  // Who may only spend prepaid funds is not shown a way to pay: an owner adds funds elsewhere.
  if (refused.prepaidOnly) return refusal("payment_required", message, sums)
  return refusal("payment_required", message, {
    ...sums,
    pay: payBlock(needed - balance, caller, baseUrl),
    // The specification names this field; a text cannot be taken for a promise.
    // eslint-disable-next-line unicorn/no-thenable
    then: "After the payment, send the original request again.",
  })
}

/** How the caller can pay: the request to send, literally. */
function payBlock(missing: Micros, caller: Caller, baseUrl: string): object {
  const wholeDollars = Math.ceil(missing / MICROS_PER_DOLLAR)
  const amount = Math.min(Math.max(wholeDollars, LEAST_PURCHASE_DOLLARS), MOST_PURCHASE_DOLLARS)
  const mayBuy = caller.key.purchases?.mode === "on"
  return {
    method: "POST",
    url: `${baseUrl}/api/v1/credits`,
    headers: { "Idempotency-Key": randomUUID() },
    instructions: mayBuy
      ? "Send this request with the same API key. Use a new Idempotency-Key for each purchase, the same one only to retry."
      : "An owner must turn on Add funds for this key before it can buy; then send this request with the same API key.",
    body: { amount },
    alternatives: ["sharedPaymentToken"],
  }
}
