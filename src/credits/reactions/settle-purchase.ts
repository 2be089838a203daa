/** Settles purchases with known payments, and reads their state. */
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

export interface SettledPurchase {
  /** Whether this call settled it; false if it was settled before. */
  readonly isNew: boolean
  /** Funds afterwards, micro-dollars. */
  readonly fundsMicros: Micros
  readonly position: Position | null
}

/** A payment answer that settles a purchase. */
export type FinalPayment = Exclude<PaymentAnswer, { answer: "processing" | "unconfirmed" }>

/** Whether an answer settles the purchase; else the payment is in progress. */
export function isFinalPayment(answer: PaymentAnswer): answer is FinalPayment {
  return answer.answer !== "processing" && answer.answer !== "unconfirmed"
}

/** Records the outcome of a payment; a settled purchase stays unchanged. */
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

/** Records the processor's payment id of a purchase before the payment has ended. */
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

/** The payment of a pending purchase, with everything that finds it at the processor. */
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
 * Reads a purchase from the newest read model; null if there is no such purchase.
 *
 * @throws Unavailable if the read model did not catch up in time
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
