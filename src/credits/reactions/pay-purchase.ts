/**
 * Finds out what became of a purchase that was begun and is not paid: the processor was silent, the
 * payment is under way, or the process that began it is gone. It only asks: it never pays.
 */
import type { CardPayment, PaymentAnswer } from "../../../adapters/providers/cards/port.ts"
import type { TakenWork, WorkResult } from "../../../adapters/work/port.ts"
import type { PurchaseWork } from "../../../projections/work.ts"
import { causedBy } from "../../frame/kernel/envelope.ts"
import type { Ports } from "../../frame/ports.ts"
import {
  PARK_AFTER_MS,
  UNKNOWN_IS_NO_AFTER_MS,
  askAgainAfter,
} from "../../frame/effects/ask-again.ts"
import { askCards } from "./ask-cards.ts"
import { isEnd, settlePurchase } from "./settle-purchase.ts"

/** Asks about one purchase, and ends it once its payment is known. */
export async function payPurchase(ports: Ports, work: TakenWork): Promise<WorkResult> {
  const { purchaseId: name, amountMicros, startedAt: begunAt } = work.payload as PurchaseWork
  const payment: CardPayment = { name, companyId: work.companyId ?? "", amountMicros, begunAt }
  const ageMs = ports.clock.now() - begunAt
  // An operator may have called it early: whoever began it may be about to pay.
  if (ageMs < askAgainAfter(0, false)) {
    return { result: "later", dueAt: begunAt + askAgainAfter(0, false) }
  }
  const answer = await whatBecame(ports, payment, ageMs)
  if (answer !== null && answer !== "unknown" && isEnd(answer)) {
    await settlePurchase(ports, payment, answer, causedBy(`pay-purchase ${name}`))
    return { result: "done" }
  }
  if (answer === null && ageMs >= PARK_AFTER_MS) {
    return { result: "park", reason: "the processor has been silent about it for 72 hours" }
  }
  return { result: "later", dueAt: ports.clock.now() + askAgainAfter(ageMs, answer === "unknown") }
}

/**
 * What the processor says of it; null where it does not say. A payment that it does not know after
 * ten minutes is withdrawn, so that nobody who was held up makes it afterwards.
 */
async function whatBecame(
  ports: Ports,
  payment: CardPayment,
  ageMs: number,
): Promise<PaymentAnswer | "unknown" | null> {
  const known = await askCards(ports, (cards) => cards.ask(payment))
  if (known === null || known.answer !== "unknown") return known
  if (ageMs < UNKNOWN_IS_NO_AFTER_MS) return "unknown"
  return askCards(ports, (cards) => cards.withdraw(payment))
}
