/** The replies to buyers of funds. */
import { z } from "zod"
import type { CardPayment } from "../../adapters/providers/cards/port.ts"
import type { Position } from "../../adapters/eventstore/port.ts"
import type { PurchaseRefusalCode, PurchaseRefused } from "../../domain/charging/ledger-commands.ts"
import { MIN_PURCHASE_MICROS, MAX_PURCHASE_MICROS } from "../../domain/charging/purchases.ts"
import type { Micros } from "../../domain/kernel/money.ts"
import { dollarsFromMicros, formatMoney } from "../../domain/kernel/money.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import type { Reply } from "../frame/routes/declare/route.ts"
import { dollarsSchema, describedId } from "../frame/kernel/schema.ts"

/** A purchase, as routes return it. */
export const PurchaseBody = z.object({
  status: z.enum(["paid", "processing", "unconfirmed", "in_progress"]).meta({
    description:
      "`processing`: the payment is in progress. `unconfirmed`: the processor did not answer. " +
      "`in_progress`: another request with this key is being executed. We check each of them until its " +
      "result is known; send the same request again to read the current status.",
  }),
  amount: dollarsSchema.describe("Bought amount in US dollars"),
  purchaseId: describedId("the purchase"),
  paymentId: z.string().nullable().meta({
    description: "The payment processor's id of the payment; null until it is known",
  }),
  balance: dollarsSchema.meta({
    description:
      "Funds in US dollars at the time of this answer, exact to the micro-dollar; a repeated request " +
      "returns the current balance",
  }),
})

export type PurchaseReply = Reply<z.infer<typeof PurchaseBody>, 200 | 202>

type NamedPayment = Pick<CardPayment, "idempotencyKey" | "amountMicros">

/** The reply to a paid purchase. */
export function paidPurchaseReply(
  payment: NamedPayment,
  paymentId: string,
  fundsMicros: Micros,
  position: Position | null,
): PurchaseReply {
  return { ok: true, body: bodyOf(payment, "paid", paymentId, fundsMicros), position }
}

/** The reply to a purchase whose payment is not decided yet. */
export function pendingPurchaseReply(
  payment: NamedPayment,
  status: "processing" | "unconfirmed" | "in_progress",
  paymentId: string | null,
  fundsMicros: Micros,
  position: Position | null,
): PurchaseReply {
  return { ok: true, status: 202, body: bodyOf(payment, status, paymentId, fundsMicros), position }
}

function bodyOf(
  { idempotencyKey: purchaseId, amountMicros }: NamedPayment,
  status: z.infer<typeof PurchaseBody>["status"],
  paymentId: string | null,
  fundsMicros: Micros,
): z.infer<typeof PurchaseBody> {
  const [amount, balance] = [dollarsFromMicros(amountMicros), dollarsFromMicros(fundsMicros)]
  return { status, amount, purchaseId, paymentId, balance }
}

/** Failure code: the processor was unreachable, and nothing was paid. */
export const PROCESSOR_UNAVAILABLE = "unavailable"

/**
 * The reply to a failed purchase. A failure that an owner or time can fix frees the `Idempotency-Key`, so the
 * same request can be sent again; a rejection by the processor is final.
 *
 * @param position of the failure; null if it was recorded before
 */
export function failedPurchaseReply(
  code: string,
  position: Position | null,
): Exclude<PurchaseReply, { ok: true }> {
  return { ...failure(code), position }
}

function failure(code: string): Exclude<PurchaseReply, { ok: true }> {
  switch (code) {
    case PROCESSOR_UNAVAILABLE: {
      const message =
        "The payment processor is unreachable. Nothing was paid. Send the request again in 5 seconds."
      const headers = { "retry-after": "5" }
      return { ok: false, refusal: { ...refusal("unavailable", message), headers } }
    }
    case "needs_owner": {
      const message =
        "An owner must confirm this payment with the card's bank. Nothing was paid. Send the request again after that."
      return { ok: false, refusal: refusal("needs_owner", message) }
    }
    case "no_card":
      return noCardReply()
    case "declined": {
      const message = "The payment was declined. Use a new Idempotency-Key for another attempt."
      return { ok: false, refusal: refusal("declined", message), isFinal: true }
    }
    default: {
      const message = "The payment failed. Use a new Idempotency-Key for another attempt."
      return { ok: false, refusal: refusal("payment_failed", message), isFinal: true }
    }
  }
}

/** The reply if there is no payment method. */
export function noCardReply(): Exclude<PurchaseReply, { ok: true }> {
  const message =
    "The company has no card on file. Ask an owner to add one, or send a sharedPaymentToken."
  return { ok: false, refusal: refusal("no_card", message) }
}

/** The reply to a buyer without a key who is not an owner. */
export function ownerOnlyReply(): Exclude<PurchaseReply, { ok: true }> {
  const message = "Only an owner of the company can buy funds without an API key."
  return { ok: false, refusal: refusal("purchase_not_allowed", message) }
}

/** The reply to an invalid amount. */
export function badAmountReply(): Exclude<PurchaseReply, { ok: true }> {
  const least = dollarsFromMicros(MIN_PURCHASE_MICROS)
  const most = dollarsFromMicros(MAX_PURCHASE_MICROS)
  const message = `The amount must be a number of dollars from ${least} to ${most}, with at most two decimals.`
  return { ok: false, refusal: refusal("bad_amount", message) }
}

/** The reply to a purchase that the ledger refused. */
export function refusedPurchaseReply(
  code: PurchaseRefusalCode,
  { terms, takenMicros }: Pick<PurchaseRefused, "terms" | "takenMicros">,
): Exclude<PurchaseReply, { ok: true }> {
  const reject = (error: Parameters<typeof refusal>[0], message: string) => {
    return { ok: false as const, refusal: refusal(error, message) }
  }
  switch (code) {
    case "ledger_closed":
      return reject("invalid_key", "The company of this API key was deleted.")
    case "bad_amount":
      return badAmountReply()
    case "purchase_not_allowed":
      return reject(code, "This key cannot buy funds. An owner can turn on Add funds for it.")
    case "purchase_needs_review":
      return reject(code, "An owner must review this key's purchases before it can buy again.")
    case "over_purchase_limit": {
      const most = formatMoney(terms?.perPurchaseMicros ?? 0)
      return reject(code, `This key can buy at most ${most} at a time.`)
    }
    case "over_monthly_limit": {
      const most = formatMoney(terms?.perMonthMicros ?? 0)
      const taken = formatMoney(takenMicros)
      const message = `This key can buy at most ${most} a month; ${taken} of it is bought or pending.`
      return reject(code, message)
    }
  }
}
