/**
 * Finds out what became of a purchase that was begun and is not paid: the processor was silent, the
 * payment is under way, or the process that began it is gone. It only asks: it never pays, for what the
 * buyer's own wallet is paid by is kept nowhere.
 */
import { z } from "zod"
import type { CardPayment, PaymentAnswer } from "../../../adapters/providers/cards/port.ts"
import { effect } from "../../frame/effects/effect.ts"
import { askCards } from "./ask-cards.ts"
import { isEnd, settlePurchase } from "./settle-purchase.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { parsePurchaseId } from "../../../domain/kernel/ids.ts"
import { idSchema } from "../../frame/kernel/id-schemas.ts"

/** A purchase that is not paid by then is asked about: whoever began it may be gone. */
const ASK_AFTER_MS = 60_000

const Payload = z.object({
  purchaseId: idSchema(parsePurchaseId),
  amountMicros: z.number(),
  startedAt: z.number(),
})

type Payload = z.infer<typeof Payload>

/** The reaction that ends purchases. */
export const purchaseEffect = effect<Payload, PaymentAnswer>({
  ...{ kind: "pay-purchase", payload: Payload },
  ...{ provider: "the processor", about: "it", unknownTo: "nobody began this purchase" },
  from: {
    PurchaseStarted: ({ purchaseId, amountMicros, at }) => {
      const payload = { purchaseId, amountMicros, startedAt: at }
      return [{ name: purchaseId, payload, dueAt: at + ASK_AFTER_MS }]
    },
  },
  until: {
    PurchasePaid: ({ purchaseId }) => [purchaseId],
    PurchaseFailed: ({ purchaseId }) => [purchaseId],
  },
  begunAt: ({ startedAt }) => startedAt,
  // Its end takes the row away, and ending it again changes nothing.
  look: async () => "open",
  act: null,
  ask: async ({ cards }, work) => {
    const known = await cards.ask(paymentOf(work))
    return known.answer === "unknown" ? "unknown" : known
  },
  isRepeatable: () => false,
  end: async (ports, { companyId, payload: { purchaseId } }, answer, cause) => {
    if (!isEnd(answer)) return false
    await settlePurchase(ports, { companyId, purchaseId }, answer, cause)
    return true
  },
  // It is withdrawn, so that nobody who was held up makes it afterwards.
  unknown: (ports, work) => askCards(ports, (cards) => cards.withdraw(paymentOf(work))),
  givenUp: { answer: "payment_failed" },
})

function paymentOf({
  companyId,
  payload,
}: {
  readonly companyId: CompanyId
  readonly payload: Payload
}): CardPayment {
  const { purchaseId: name, amountMicros, startedAt: begunAt } = payload
  return { name, companyId, amountMicros, begunAt }
}
