/** The steps of a purchase: started in the ledger, paid by the processor, settled in the ledger. */
import { ledgerStreamOf } from "../../domain/charging/aggregates.ts"
import type { PaymentOrder, PaymentAnswer } from "../../adapters/providers/cards/port.ts"
import {
  ProviderOutcomeUnknown,
  ProviderUnavailable,
  withProviderTimeout,
} from "../../adapters/providers/provider-errors.ts"
import type { Position } from "../../adapters/eventstore/port.ts"
import { accountOf } from "../../domain/charging/ledger-views.ts"
import type { CompanyId, PurchaseId } from "../../domain/kernel/ids.ts"
import type { Micros } from "../../domain/kernel/money.ts"
import type { PurchaseRow } from "../../projections/charging/purchases.ts"
import { derivedId } from "../frame/kernel/ids.ts"
import { causeOf } from "../frame/routes/api-call.ts"
import type { Caller, Seed } from "../frame/routes/declare/route.ts"
import type { Ports } from "../frame/ports.ts"
import {
  isFinalPayment,
  lookUpPurchase,
  paymentOf,
  recordPayment,
  settlePurchase,
} from "./reactions/settle-purchase.ts"
import { OutcomeUnknown } from "../frame/writer/runner.ts"
import type { PurchaseReply } from "./purchase-replies.ts"
import {
  PROCESSOR_UNAVAILABLE,
  failedPurchaseReply,
  pendingPurchaseReply,
  paidPurchaseReply,
} from "./purchase-replies.ts"

/** The id of a purchase, derived from the buyer, the `Idempotency-Key` and the attempt. */
export function purchaseIdOf({ parts }: Seed): PurchaseId {
  return derivedId("pur", ...parts)
}

/** The newest funds, micro-dollars: a buyer must not see the balance from before a payment that is known. */
export async function readFunds(
  ports: Pick<Ports, "runner">,
  companyId: CompanyId,
): Promise<Micros> {
  const account = await ports.runner.readLatest(ledgerStreamOf(companyId), accountOf)
  return account.fundsMicros
}

/** A purchase that the ledger has started, with its payment method. */
export interface StartedPurchase extends Pick<PaymentOrder, "amountMicros" | "sharedPaymentToken"> {
  readonly purchaseId: PurchaseId
  /** UTC milliseconds. */
  readonly startedAt: number
}

/**
 * Pays a purchase that the ledger has started, and settles it if the outcome is known.
 *
 * @param position of the start; null if it started before
 * @throws OutcomeUnknown for every error: money may have moved, so no error is a plain rejection
 */
export async function payStartedPurchase(
  ports: Ports,
  caller: Caller,
  purchase: StartedPurchase,
  position: Position | null,
): Promise<PurchaseReply> {
  const { companyId } = caller
  const { purchaseId, sharedPaymentToken } = purchase
  try {
    const known = await paymentOf(ports, { companyId, ...purchase })
    const payment = { ...known, sharedPaymentToken }
    const ordered = await orderWithTimeout(ports, payment)
    // A repeated order that has no payment says nothing about the first one, which may have one.
    const isRepeated = position === null
    const answer = isRepeated && hasNoPayment(ordered) ? "silent" : ordered
    if (answer === "silent") {
      const fundsMicros = await readFunds(ports, companyId)
      return pendingPurchaseReply(payment, "unconfirmed", null, fundsMicros, position)
    }
    if (answer === PROCESSOR_UNAVAILABLE) {
      const command = {
        type: "FailPurchase" as const,
        purchaseId,
        code: PROCESSOR_UNAVAILABLE,
        paymentId: null,
      }
      const stream = ledgerStreamOf(companyId)
      const ended = await ports.runner.execute(stream, command, causeOf(caller))
      const isOver = ended.accepted && ended.facts.length === 0
      if (isOver) return await readPurchase(ports, companyId, purchaseId)
      return failedPurchaseReply(PROCESSOR_UNAVAILABLE, ended.accepted ? ended.position : null)
    }
    if (!isFinalPayment(answer)) {
      await recordPayment(ports, { companyId, purchaseId }, answer, causeOf(caller))
      const fundsMicros = await readFunds(ports, companyId)
      return pendingPurchaseReply(payment, answer.answer, answer.paymentId, fundsMicros, position)
    }
    const settled = await settlePurchase(ports, { companyId, purchaseId }, answer, causeOf(caller))
    // Another process settled it first: the ledger has the result.
    if (!settled.isNew) return await readPurchase(ports, companyId, purchaseId)
    if (answer.answer !== "paid") return failedPurchaseReply(answer.answer, settled.position)
    return paidPurchaseReply(payment, answer.paymentId, settled.fundsMicros, settled.position)
  } catch (error) {
    throw unknownPurchaseOutcome(purchaseId, error)
  }
}

function hasNoPayment(answer: Awaited<ReturnType<typeof orderWithTimeout>>): boolean {
  if (answer === "silent") return false
  return answer === PROCESSOR_UNAVAILABLE || (isFinalPayment(answer) && answer.paymentId === null)
}

/** An error that names the purchase and does not free the `Idempotency-Key`. */
export function unknownPurchaseOutcome(purchaseId: PurchaseId, cause: unknown): OutcomeUnknown {
  const message = `purchase ${purchaseId} was started, and it is unknown whether it was paid`
  return Object.assign(new OutcomeUnknown(message, { cause }), { purchaseId })
}

/** Orders a payment; `silent` if the outcome is unknown, `unavailable` if nothing happened. */
async function orderWithTimeout(
  ports: Pick<Ports, "cards" | "log" | "pacer">,
  payment: PaymentOrder,
): Promise<PaymentAnswer | "silent" | typeof PROCESSOR_UNAVAILABLE> {
  try {
    return await withProviderTimeout(ports.pacer, "the processor", ports.cards.pay(payment))
  } catch (error) {
    if (error instanceof ProviderOutcomeUnknown) return "silent"
    if (!(error instanceof ProviderUnavailable)) throw error
    ports.log.warn("the payment processor is unavailable; nothing was paid", error)
    return PROCESSOR_UNAVAILABLE
  }
}

/** The reply for a purchase's current state. @throws Unavailable if its read model is behind */
export async function readPurchase(
  ports: Pick<Ports, "projector" | "readAll" | "runner" | "store">,
  companyId: CompanyId,
  purchaseId: PurchaseId,
): Promise<PurchaseReply> {
  const row = await lookUpPurchase(ports, companyId, purchaseId)
  if (row === null) throw new Error(`there is no purchase ${purchaseId}`)
  return purchaseReplyFromRow(ports, row)
}

/** The reply for a row of a purchase. */
export async function purchaseReplyFromRow(
  ports: Pick<Ports, "runner">,
  row: PurchaseRow,
): Promise<PurchaseReply> {
  if (row.state === "failed") return failedPurchaseReply(row.code ?? "", null)
  const payment = { idempotencyKey: row.purchase_id, amountMicros: row.amount_micros }
  const fundsMicros = await readFunds(ports, row.company_id)
  if (row.state === "pending")
    return pendingPurchaseReply(payment, "unconfirmed", row.payment_id, fundsMicros, null)
  return paidPurchaseReply(payment, row.payment_id ?? "", fundsMicros, null)
}
