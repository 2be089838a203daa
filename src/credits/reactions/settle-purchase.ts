/** Ending a purchase whose payment is known, and looking up how one ended. */
import { ledgerOf } from "../../../domain/charging/aggregates.ts"
import type { PaymentAnswer } from "../../../adapters/providers/cards/port.ts"
import { Unavailable } from "../../../adapters/eventstore/port.ts"
import type { Position } from "../../../adapters/eventstore/port.ts"
import { accountOf } from "../../../domain/charging/ledger-views.ts"
import type { CompanyId, PurchaseId } from "../../../domain/kernel/ids.ts"
import type { Micros } from "../../../domain/kernel/money.ts"
import type { PurchaseRow } from "../../../projections/charging/purchases.ts"
import { findPurchase } from "../../../projections/charging/purchases.ts"
import type { Cause } from "../../frame/kernel/envelope.ts"
import type { Ports } from "../../frame/ports.ts"

const CATCH_UP_MS = 2_000

/** What a payment's outcome did to its purchase. */
export interface Settled {
  /** Whether this ended it; else it had ended before. */
  readonly now: boolean
  /** The funds right after it. */
  readonly fundsMicros: Micros
  readonly position: Position | null
}

/** An outcome that ends a purchase. */
export type PaymentEnd = Exclude<PaymentAnswer, { answer: "processing" | "unconfirmed" }>

/** Whether an answer ends the purchase; else its payment is still under way. */
export function isEnd(answer: PaymentAnswer): answer is PaymentEnd {
  return answer.answer !== "processing" && answer.answer !== "unconfirmed"
}

/** Writes down how a payment ended. One that had ended stays as it was. */
export async function settlePurchase(
  ports: Ports,
  { companyId, purchaseId }: { readonly companyId: CompanyId; readonly purchaseId: PurchaseId },
  end: PaymentEnd,
  cause: Cause,
): Promise<Settled> {
  const command =
    end.answer === "paid"
      ? { type: "PayPurchase" as const, purchaseId, paymentId: end.paymentId }
      : { type: "FailPurchase" as const, purchaseId, code: end.answer }
  const stream = ledgerOf(companyId)
  const settled = await ports.runner.execute(stream, command, cause, accountOf)
  if (!settled.accepted) throw new Error(`purchase ${purchaseId} could not be settled`)
  const { facts, view, position } = settled
  return { now: facts.length > 0, fundsMicros: view.fundsMicros, position }
}

/**
 * How a purchase stands by everything stored until now; null where none of this id was begun.
 *
 * @throws Unavailable where the read model did not catch up in time: what it shows may be old
 */
export async function lookUpPurchase(
  ports: Ports,
  companyId: CompanyId,
  purchaseId: PurchaseId,
): Promise<PurchaseRow | null> {
  const head = await ports.store.head()
  if (!(await ports.projector.waitFor(head, CATCH_UP_MS, ["purchases"]))) {
    throw new Unavailable("the read model of purchases is behind")
  }
  return findPurchase(ports.readAll, companyId, purchaseId)
}
