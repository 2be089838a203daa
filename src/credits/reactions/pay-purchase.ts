/**
 * Reconciles a purchase that is started and not paid: the processor was silent, the payment is in progress, or
 * the process died. It never pays, because the token of the buyer's wallet is not stored.
 */
import { z } from "zod"
import type { PaymentAnswer } from "../../../adapters/providers/cards/port.ts"
import { effect } from "../../frame/effects/effect.ts"
import { askCards } from "./ask-cards.ts"
import { isFinalPayment, paymentOf, recordPayment, settlePurchase } from "./settle-purchase.ts"
import { parsePurchaseId } from "../../../domain/kernel/ids.ts"
import { causedBy } from "../../frame/kernel/envelope.ts"
import { idSchema } from "../../frame/kernel/schema.ts"

/** Delay of the first check; by then the process that started the purchase may be dead. */
const CHECK_STATUS_AFTER_MS = 60_000

const Payload = z.object({
  purchaseId: idSchema(parsePurchaseId),
  amountMicros: z.number(),
  startedAt: z.number(),
})

type Payload = z.infer<typeof Payload>

export const purchaseEffect = effect<Payload, PaymentAnswer>({
  kind: "pay-purchase",
  payload: Payload,
  provider: "the processor",
  label: "it",
  missingReason: "there is no such purchase",
  on: {
    PurchaseStarted: ({ purchaseId, amountMicros, at }) => {
      const payload = { purchaseId, amountMicros, startedAt: at }
      return [{ name: purchaseId, payload, dueAt: at + CHECK_STATUS_AFTER_MS }]
    },
  },
  endOn: {
    PurchasePaid: ({ purchaseId }) => [purchaseId],
    PurchaseFailed: ({ purchaseId }) => [purchaseId],
  },
  startedAt: ({ startedAt }) => startedAt,
  // The end of a purchase removes the job, and a repeated settlement changes nothing.
  checkStatus: async () => "open",
  callProvider: null,
  checkProvider: async (ports, { companyId, payload, kind, name }) => {
    const known = await ports.cards.checkPaymentStatus(
      await paymentOf(ports, { companyId, ...payload }),
    )
    if (known.answer === "unknown") return "unknown"
    if (isFinalPayment(known)) return known
    const { purchaseId } = payload
    await recordPayment(ports, { companyId, purchaseId }, known, causedBy(`${kind} ${name}`))
    // An unprocessed order is withdrawn like one that never arrived.
    return known.answer === "unconfirmed" ? "unknown" : known
  },
  isIdempotent: () => false,
  recordOutcome: async (ports, { companyId, payload: { purchaseId } }, answer, cause) => {
    if (!isFinalPayment(answer)) return false
    await settlePurchase(ports, { companyId, purchaseId }, answer, cause)
    return true
  },
  // The order is withdrawn, so that a delayed process cannot pay it afterwards.
  notReceivedOutcome: async (ports, { companyId, payload }) => {
    const payment = await paymentOf(ports, { companyId, ...payload })
    const canceled = await askCards(ports, (cards) => cards.cancelPayment(payment))
    return canceled?.answer === "unconfirmed" ? null : canceled
  },
  discardedOutcome: { answer: "payment_failed", paymentId: null },
})
