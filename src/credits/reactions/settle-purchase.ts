/** Ending a purchase whose payment is known, and looking up how one ended. */
import { ledgerStreamOf } from "../../../domain/charging/aggregates.ts"
import type { CardPayment, PaymentAnswer } from "../../../adapters/providers/cards/port.ts"
import { Unavailable } from "../../../adapters/eventstore/port.ts"
import type { Position } from "../../../adapters/eventstore/port.ts"
import { processorCustomerOf } from "../../../domain/access/access.ts"
import { accessStreamOf } from "../../../domain/access/aggregates.ts"
import { accountOf, paymentIdOfPending } from "../../../domain/charging/ledger-views.ts"
import type { CompanyId, PurchaseId } from "../../../domain/kernel/ids.ts"
import type { Micros } from "../../../domain/kernel/money.ts"
import type { PurchaseRow } from "../../../projections/charging/purchases.ts"
import { findPurchase } from "../../../projections/charging/purchases.ts"
import type { Cause } from "../../frame/kernel/envelope.ts"
import type { Ports } from "../../frame/ports.ts"

const CATCH_UP_MS = 2_000

/** What a payment's outcome did to its purchase. */
export interface SettledPurchase {
  /** Whether this ended it; else it had ended before. */
  readonly isNew: boolean
  /** The funds right after it. */
  readonly fundsMicros: Micros
  readonly position: Position | null
}

/** An outcome that ends a purchase. */
export type FinalPayment = Exclude<PaymentAnswer, { answer: "processing" | "unconfirmed" }>

/** Whether an answer ends the purchase; else its payment is still under way. */
export function isFinalPayment(answer: PaymentAnswer): answer is FinalPayment {
  return answer.answer !== "processing" && answer.answer !== "unconfirmed"
}

/** Writes down how a payment ended. One that had ended stays as it was. */
export async function settlePurchase(
  ports: Pick<Ports, "runner">,
  { companyId, purchaseId }: { readonly companyId: CompanyId; readonly purchaseId: PurchaseId },
  end: FinalPayment,
  cause: Cause,
): Promise<SettledPurchase> {
  const command =
    end.answer === "paid"
      ? { type: "PayPurchase" as const, purchaseId, paymentId: end.paymentId }
      : {
          type: "FailPurchase" as const,
          purchaseId,
          code: end.answer,
          paymentId: end.paymentId,
        }
  const stream = ledgerStreamOf(companyId)
  const settled = await ports.runner.execute(stream, command, cause, accountOf)
  if (!settled.accepted) throw new Error(`purchase ${purchaseId} could not be settled`)
  const { facts, view, position } = settled
  return { isNew: facts.length > 0, fundsMicros: view.fundsMicros, position }
}

/** Records which payment a purchase is paid by, where the processor says so before the payment has ended. */
export async function recordPayment(
  { runner }: Pick<Ports, "runner">,
  { companyId, purchaseId }: { readonly companyId: CompanyId; readonly purchaseId: PurchaseId },
  { paymentId }: { readonly paymentId: string | null },
  cause: Cause,
): Promise<void> {
  if (paymentId === null) return
  const command = { type: "OrderPurchase" as const, purchaseId, paymentId }
  const recorded = await runner.execute(ledgerStreamOf(companyId), command, cause)
  if (!recorded.accepted) throw new Error(`the payment of ${purchaseId} could not be recorded`)
}

/** The payment of a pending purchase, with all that is recorded for finding it at the processor. */
export async function paymentOf(
  { runner }: Pick<Ports, "runner">,
  purchase: {
    readonly companyId: CompanyId
    readonly purchaseId: PurchaseId
    readonly amountMicros: Micros
    readonly startedAt: number
  },
): Promise<CardPayment & { readonly idempotencyKey: PurchaseId }> {
  const { companyId, purchaseId: idempotencyKey, amountMicros, startedAt } = purchase
  const [customerId, paymentId] = await Promise.all([
    runner.readLatest(accessStreamOf(companyId), processorCustomerOf),
    runner.readLatest(ledgerStreamOf(companyId), (state) =>
      paymentIdOfPending(state, idempotencyKey),
    ),
  ])
  return { idempotencyKey, companyId, amountMicros, startedAt, customerId, paymentId }
}

/**
 * How a purchase stands by everything stored until now; null where none of this id was begun.
 *
 * @throws Unavailable where the read model did not catch up in time: what it shows may be old
 */
export async function lookUpPurchase(
  ports: Pick<Ports, "projector" | "readAll" | "store">,
  companyId: CompanyId,
  purchaseId: PurchaseId,
): Promise<PurchaseRow | null> {
  const head = await ports.store.head()
  if (!(await ports.projector.waitUntilWritten(head, CATCH_UP_MS, ["purchases"]))) {
    throw new Unavailable("the read model of purchases is behind")
  }
  return findPurchase(ports.readAll, companyId, purchaseId)
}
