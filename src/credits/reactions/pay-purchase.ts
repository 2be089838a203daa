/**
 * Finds out what became of a purchase that was begun and is not paid: the processor was silent, the
 * payment is under way, or the process that began it is gone. It only asks: it never pays, for what the
 * buyer's own wallet is paid by is kept nowhere.
 */
import { z } from "zod"
import type { PaymentAnswer } from "../../../adapters/providers/cards/port.ts"
import { effect } from "../../frame/effects/effect.ts"
import { askCards } from "./ask-cards.ts"
import { isFinalPayment, paymentOf, recordPayment, settlePurchase } from "./settle-purchase.ts"
import { parsePurchaseId } from "../../../domain/kernel/ids.ts"
import { causedBy } from "../../frame/kernel/envelope.ts"
import { idSchema } from "../../frame/kernel/schema.ts"

/** A purchase that is not paid by then is asked about: whoever began it may be gone. */
const CHECK_STATUS_AFTER_MS = 60_000

const Payload = z.object({
  purchaseId: idSchema(parsePurchaseId),
  amountMicros: z.number(),
  startedAt: z.number(),
})

type Payload = z.infer<typeof Payload>

/** The reaction that ends purchases. */
export const purchaseEffect = effect<Payload, PaymentAnswer>({
  kind: "pay-purchase",
  payload: Payload,
  provider: "the processor",
  thingName: "it",
  missingReason: "nobody began this purchase",
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
  // Its end takes the row away, and ending it again changes nothing.
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
    // An order that was never carried out is withdrawn like one that never arrived.
    return known.answer === "unconfirmed" ? "unknown" : known
  },
  isIdempotent: () => false,
  recordOutcome: async (ports, { companyId, payload: { purchaseId } }, answer, cause) => {
    if (!isFinalPayment(answer)) return false
    await settlePurchase(ports, { companyId, purchaseId }, answer, cause)
    return true
  },
  // It is withdrawn, so that nobody who was held up makes it afterwards.
  notReceivedOutcome: async (ports, { companyId, payload }) => {
    const payment = await paymentOf(ports, { companyId, ...payload })
    const left = await askCards(ports, (cards) => cards.cancelPayment(payment))
    return left?.answer === "unconfirmed" ? null : left
  },
  discardedOutcome: { answer: "payment_failed", paymentId: null },
})
