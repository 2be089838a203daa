/** What a buyer of funds is told. */
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

/** A purchase as it stands. */
export const PurchaseBody = z.object({
  status: z.enum(["paid", "processing", "unconfirmed", "in_progress"]).meta({
    description:
      "`processing`: the payment is under way. `unconfirmed`: the processor did not say. " +
      "`in_progress`: another request with this key is being carried out. Each of them is asked " +
      "about until it is known; the same request again says how it stands.",
  }),
  amount: dollarsSchema.describe("What is bought, dollars"),
  purchaseId: describedId("the purchase"),
  paymentId: z.string().nullable().meta({
    description: "The payment processor's name for it; null while it is not known",
  }),
  balance: dollarsSchema.meta({
    description:
      "Dollars of funds when this is answered, exact to the micro-dollar; the same request again " +
      "says the balance of then",
  }),
})

/** What a buyer is told. */
export type PurchaseReply = Reply<z.infer<typeof PurchaseBody>, 200 | 202>

type NamedPayment = Pick<CardPayment, "idempotencyKey" | "amountMicros">

/** The funds were raised. */
export function paidPurchaseReply(
  payment: NamedPayment,
  paymentId: string,
  fundsMicros: Micros,
  position: Position | null,
): PurchaseReply {
  return { ok: true, body: bodyOf(payment, "paid", paymentId, fundsMicros), position }
}

/** It is not known yet whether it will be paid. */
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

/** The processor could not be reached, and has done nothing. */
export const PROCESSOR_UNAVAILABLE = "unavailable"

/**
 * Why a purchase that was begun has failed. What an owner or time can put right frees the key, so
 * that the original may be sent again; the processor's no is final.
 *
 * @param position where its failure stands; null where it stood there before
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
      const message = "The payment processor cannot be reached; nothing was paid. Send it again."
      const headers = { "retry-after": "5" }
      return { ok: false, refusal: { ...refusal("unavailable", message), headers } }
    }
    case "needs_owner": {
      const message =
        "An owner must confirm this payment with the card's bank; nothing was paid. Send it again then."
      return { ok: false, refusal: refusal("needs_owner", message) }
    }
    case "no_card":
      return noCardReply()
    case "declined": {
      const message = "The payment was declined; another attempt needs a new Idempotency-Key."
      return { ok: false, refusal: refusal("declined", message), isFinal: true }
    }
    default: {
      const message = "The payment failed; another attempt needs a new Idempotency-Key."
      return { ok: false, refusal: refusal("payment_failed", message), isFinal: true }
    }
  }
}

/** There is nothing to pay from. */
export function noCardReply(): Exclude<PurchaseReply, { ok: true }> {
  const message =
    "The company has no card on file; an owner can add one, or send a sharedPaymentToken."
  return { ok: false, refusal: refusal("no_card", message) }
}

/** Whoever buys without a key is an owner. */
export function ownerOnlyReply(): Exclude<PurchaseReply, { ok: true }> {
  const message = "Only an owner of the company may buy funds without an API key."
  return { ok: false, refusal: refusal("purchase_not_allowed", message) }
}

/** The amount is none that can be bought. */
export function badAmountReply(): Exclude<PurchaseReply, { ok: true }> {
  const least = dollarsFromMicros(MIN_PURCHASE_MICROS)
  const most = dollarsFromMicros(MAX_PURCHASE_MICROS)
  const message = `The amount is a number of dollars from ${least} to ${most} with at most two decimals.`
  return { ok: false, refusal: refusal("bad_amount", message) }
}

/** Why a purchase may not begin. */
export function refusedPurchaseReply(
  code: PurchaseRefusalCode,
  { terms, takenMicros }: Pick<PurchaseRefused, "terms" | "takenMicros">,
): Exclude<PurchaseReply, { ok: true }> {
  const no = (error: Parameters<typeof refusal>[0], message: string) => {
    return { ok: false as const, refusal: refusal(error, message) }
  }
  switch (code) {
    case "ledger_closed":
      return no("invalid_key", "The company of this API key was deleted.")
    case "bad_amount":
      return badAmountReply()
    case "purchase_not_allowed":
      return no(code, "This key may not buy funds; an owner can turn on Add funds for it.")
    case "purchase_needs_review":
      return no(code, "An owner must review what this key buys before it may buy again.")
    case "over_purchase_limit": {
      const most = formatMoney(terms?.perPurchaseMicros ?? 0)
      return no(code, `This key may buy for at most ${most} at a time.`)
    }
    case "over_monthly_limit": {
      const most = formatMoney(terms?.perMonthMicros ?? 0)
      const taken = formatMoney(takenMicros)
      const message = `This key may buy for at most ${most} a month, and ${taken} of it is bought or pending.`
      return no(code, message)
    }
  }
}
