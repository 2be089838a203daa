/** Refusals of charges and limits: which limit rejected, how much is left, and what helps. */
import { randomUUID } from "node:crypto"
import type { ChargeRefused } from "../../../../domain/charging/ledger-events.ts"
import type { LimitReading } from "../../../../domain/charging/limits.ts"
import { isLimitExhausted } from "../../../../domain/charging/limits.ts"
import type { Micros } from "../../../../domain/kernel/money.ts"
import { dollarsFromMicros, formatMoney } from "../../../../domain/kernel/money.ts"
import { MIN_PURCHASE_MICROS, MAX_PURCHASE_MICROS } from "../../../../domain/charging/purchases.ts"
import type { Refusal } from "./refusal.ts"
import { refusal } from "./refusal.ts"
import { ledgerStreamOf } from "../../../../domain/charging/aggregates.ts"
import { purchaseAllowanceOf } from "../../../../domain/charging/ledger-views.ts"
import type { Ports } from "../../ports.ts"
import type { Caller } from "../declare/route.ts"
import { z } from "zod"
import { isoTimeSchema, microsSchema } from "../../kernel/schema.ts"

const MIN_DOLLARS = dollarsFromMicros(MIN_PURCHASE_MICROS)
const MAX_DOLLARS = dollarsFromMicros(MAX_PURCHASE_MICROS)
const OVERLOADED_RETRY_S = "5"

/** The key that could buy missing funds, and whether it may. */
export interface Payer {
  readonly canBuy: boolean
  /** The public URL of this service, without a trailing slash. */
  readonly baseUrl: string
}

/** Returns the answer to a charge that the ledger rejected; `payer` is null without a key. */
export function chargeRefusal(refused: ChargeRefused, payer: Payer | null): Refusal {
  switch (refused.code) {
    case "spend_limit_reached":
      return limitRefusal(refused.limits[refused.refusingLimit ?? 0] as LimitReading)
    case "payment_required":
      return paymentRefusal(refused, payer)
    case "account_locked":
      return lockedRefusal()
    case "ledger_closed":
      return refusal("invalid_key", "The company of this API key was deleted.")
    case "too_many_open_charges": {
      const message = "This company has too many pending charges. Send the request again later."
      return { ...refusal("overloaded", message), headers: { "retry-after": OVERLOADED_RETRY_S } }
    }
    case "amount_too_large": {
      const amount = formatMoney(refused.amountMicros)
      const most = formatMoney(Number.MAX_SAFE_INTEGER)
      const message = `The amount, ${amount}, is too large: no total of the ledger can exceed ${most}.`
      return refusal("validation", message, { fields: {} })
    }
  }
}

/** Returns the answer to a limit that is used up or too small for the request. */
export function limitRefusal(limit: LimitReading): Refusal {
  // A key whose own limit was used up before the request is an invalid key; otherwise the charge is rejected,
  // even if this call used the rest (docs/decisions/access.md).
  const isDeadKey = limit.holder === "key" && limit.askedMicros === 0 && isLimitExhausted(limit)
  const details = {
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
  }
  if (isDeadKey) return refusal("invalid_key", usedUpMessage(limit), details)
  const message = limit.askedMicros === 0 ? usedUpMessage(limit) : tooSmallMessage(limit)
  return refusal("spend_limit_reached", message, details)
}

const HOLDERS = { company: "The company's", person: "The person's", key: "This key's" } as const
const CLASSES = { ai: " AI", general: " general", all: "" } as const

function usedUpMessage(limit: LimitReading): string {
  const { limitName, amount, period, used, left, resetsAt } = limitTexts(limit)
  return `${limitName} limit is ${amount} a ${period}: ${used} is used and ${left} is left. It resets at ${resetsAt}. Adding funds does not help.`
}

function tooSmallMessage(limit: LimitReading): string {
  const { limitName, amount, period, used, left, cost, resetsAt } = limitTexts(limit)
  return `${limitName} limit is ${amount} a ${period}: ${used} is used, ${left} is left, and this request costs ${cost}. It resets at ${resetsAt}. Adding funds does not help.`
}

const limitTexts = (limit: LimitReading) => ({
  limitName: `${HOLDERS[limit.holder]}${CLASSES[limit.class]}`,
  amount: formatMoney(limit.amountMicros),
  period: limit.period,
  used: formatMoney(limit.usedMicros),
  left: formatMoney(limit.remainingMicros),
  cost: formatMoney(limit.askedMicros),
  resetsAt: new Date(limit.resetsAt).toISOString(),
})

/** Returns the answer while the account is locked for a missed payment. */
export function lockedRefusal(): Refusal {
  return refusal(
    "payment_required",
    "This company's account is locked: a payment failed. An owner must pay the open invoice.",
  )
}

function paymentRefusal(refused: ChargeRefused, payer: Payer | null): Refusal {
  const needed = refused.amountMicros
  const balance = refused.fundsMicros
  const line = refused.creditLineMicros
  const credit = line === 0 ? "" : ` and a credit line of ${formatMoney(line)}`
  const message = `This request costs ${formatMoney(needed)}; the company has ${formatMoney(balance)} in funds${credit}. Add funds.`
  const sums = { needed: dollarsFromMicros(needed), balance: dollarsFromMicros(balance) }
  // A caller restricted to prepaid funds gets no payment request: an owner adds funds.
  if (refused.prepaidOnly || payer === null) return refusal("payment_required", message, sums)
  return refusal("payment_required", message, {
    ...sums,
    pay: payBlock(needed - balance, payer),
    // The specification names this field `then`; a string cannot be mistaken for a promise's method.
    // eslint-disable-next-line unicorn/no-thenable
    then: "After the payment, send the original request again.",
  })
}

/** Returns the request that buys the missing funds. */
function payBlock(missing: Micros, { canBuy, baseUrl }: Payer): object {
  const wholeDollars = Math.ceil(dollarsFromMicros(missing))
  const amount = Math.min(Math.max(wholeDollars, MIN_DOLLARS), MAX_DOLLARS)
  return {
    method: "POST",
    url: `${baseUrl}/api/v1/credits`,
    headers: { "Idempotency-Key": randomUUID() },
    instructions: canBuy
      ? "Send this request with the same API key. Use a new Idempotency-Key for each purchase, the same one only to retry."
      : "An owner must turn on Add funds for this key before it can buy; then send this request with the same API key.",
    body: { amount },
    alternatives: ["sharedPaymentToken"],
  }
}

/** Returns what a 402 says to this caller about paying. @throws as `Runner.read` does */
export async function payerOf(
  ports: Pick<Ports, "baseUrl" | "runner">,
  { companyId, key }: Caller,
): Promise<Payer> {
  if (key === null) return { canBuy: false, baseUrl: ports.baseUrl() }
  const canBuy = await ports.runner.read(ledgerStreamOf(companyId), (state, at) => {
    return purchaseAllowanceOf(state, key.keyId, at)?.mode === "on"
  })
  return { canBuy, baseUrl: ports.baseUrl() }
}

export const limitSchemaFields = {
  holder: z.enum(["company", "person", "key"]).describe("Who the limit belongs to"),
  class: z
    .enum(["ai", "general", "all"])
    .describe("What it covers: AI models, everything else, or, for a key's limit, all"),
  period: z.enum(["day", "week", "month"]).describe("The window that the limit counts"),
  amountMicros: microsSchema.describe("The limit, millionths of a dollar"),
  usedMicros: microsSchema.describe("The used part, millionths of a dollar"),
  remainingMicros: microsSchema.describe(
    "The remaining part, millionths of a dollar; never below 0",
  ),
  resetsAt: isoTimeSchema.describe("When the next window begins"),
}
