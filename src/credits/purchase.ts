/** The steps of a purchase: begun in the ledger, paid by the processor, ended in the ledger. */
import { ledgerOf } from "../../domain/charging/aggregates.ts"
import type { OrderedPayment, PaymentAnswer } from "../../adapters/providers/cards/port.ts"
import { ProviderSilent, ProviderUnavailable, inTime } from "../../adapters/providers/outside.ts"
import type { Position } from "../../adapters/eventstore/port.ts"
import { accountOf } from "../../domain/charging/ledger-views.ts"
import type { CompanyId, PurchaseId } from "../../domain/kernel/ids.ts"
import type { Micros } from "../../domain/kernel/money.ts"
import type { PurchaseRow } from "../../projections/charging/purchases.ts"
import { derivedId } from "../frame/kernel/ids.ts"
import { causeOf } from "../frame/routes/call.ts"
import type { Caller, Seed } from "../frame/routes/declare/route.ts"
import type { Ports } from "../frame/ports.ts"
import {
  isEnd,
  lookUpPurchase,
  paymentOf,
  recordPayment,
  settlePurchase,
} from "./reactions/settle-purchase.ts"
import { OutcomeUnknown } from "../frame/writer/run.ts"
import type { PurchaseReply } from "./purchase-answers.ts"
import { NOT_TAKEN, failed, notYet, paid } from "./purchase-answers.ts"

/** The id of a purchase: for ever the same for the same buyer, `Idempotency-Key` and attempt. */
export function purchaseIdOf({ parts }: Seed): PurchaseId {
  return derivedId("pur", ...parts)
}

/**
 * The funds as they are, micros. At the tail: another process may have been paid a moment ago, and
 * who hears of that must not see the balance from before it.
 */
export async function fundsNow(
  ports: Pick<Ports, "runner">,
  companyId: CompanyId,
): Promise<Micros> {
  const account = await ports.runner.readLatest(ledgerOf(companyId), accountOf)
  return account.fundsMicros
}

/** A purchase that the ledger has begun, and what it is paid from. */
export interface BegunPurchase extends Pick<OrderedPayment, "amountMicros" | "sharedPaymentToken"> {
  readonly purchaseId: PurchaseId
  /** When it was begun, UTC milliseconds. */
  readonly startedAt: number
}

/**
 * Pays a purchase that the ledger has begun, and ends it where its outcome is known.
 *
 * @param position where it was begun just now; null where it was begun before
 * @throws OutcomeUnknown: money may have moved, so whatever went wrong is a doubt and no plain no
 */
export async function payBegun(
  ports: Ports,
  caller: Caller,
  purchase: BegunPurchase,
  position: Position | null,
): Promise<PurchaseReply> {
  const { companyId } = caller
  const { purchaseId, sharedPaymentToken } = purchase
  try {
    const known = await paymentOf(ports, { companyId, ...purchase })
    const payment = { ...known, sharedPaymentToken }
    const ordered = await orderInTime(ports, payment)
    // What was begun before may have been ordered then: an order that came to no payment says nothing of that.
    const isRepeated = position === null
    const answer = isRepeated && isOfNoPayment(ordered) ? "silent" : ordered
    if (answer === "silent") {
      const fundsMicros = await fundsNow(ports, companyId)
      return notYet(payment, "unconfirmed", null, fundsMicros, position)
    }
    if (answer === NOT_TAKEN) {
      const command = {
        type: "FailPurchase" as const,
        purchaseId,
        code: NOT_TAKEN,
        paymentId: null,
      }
      const stream = ledgerOf(companyId)
      const ended = await ports.runner.execute(stream, command, causeOf(caller))
      const isOver = ended.accepted && ended.facts.length === 0
      if (isOver) return await standingOf(ports, companyId, purchaseId)
      return failed(NOT_TAKEN, ended.accepted ? ended.position : null)
    }
    if (!isEnd(answer)) {
      await recordPayment(ports, { companyId, purchaseId }, answer, causeOf(caller))
      const fundsMicros = await fundsNow(ports, companyId)
      return notYet(payment, answer.answer, answer.paymentId, fundsMicros, position)
    }
    const settled = await settlePurchase(ports, { companyId, purchaseId }, answer, causeOf(caller))
    // Somebody else ended it first: what stands in the ledger is what happened.
    if (!settled.now) return await standingOf(ports, companyId, purchaseId)
    if (answer.answer !== "paid") return failed(answer.answer, settled.position)
    return paid(payment, answer.paymentId, settled.fundsMicros, settled.position)
  } catch (error) {
    throw inDoubt(purchaseId, error)
  }
}

function isOfNoPayment(answer: Awaited<ReturnType<typeof orderInTime>>): boolean {
  if (answer === "silent") return false
  return answer === NOT_TAKEN || (isEnd(answer) && answer.paymentId === null)
}

/** An error that says which purchase to look for, and frees no key. */
export function inDoubt(purchaseId: PurchaseId, cause: unknown): OutcomeUnknown {
  const message = `purchase ${purchaseId} was begun, and it is not known whether it was paid`
  return Object.assign(new OutcomeUnknown(message, { cause }), { purchaseId })
}

/** What the processor answers; `silent` where it did not, `unavailable` where it did nothing. */
async function orderInTime(
  ports: Pick<Ports, "cards" | "log" | "pacer">,
  payment: OrderedPayment,
): Promise<PaymentAnswer | "silent" | typeof NOT_TAKEN> {
  try {
    return await inTime(ports.pacer, "the processor", ports.cards.pay(payment))
  } catch (error) {
    if (error instanceof ProviderSilent) return "silent"
    if (!(error instanceof ProviderUnavailable)) throw error
    ports.log.warn("a payment was not taken", error)
    return NOT_TAKEN
  }
}

/** How a purchase stands, as an answer. @throws Unavailable where its read model is behind */
export async function standingOf(
  ports: Pick<Ports, "projector" | "readAll" | "runner" | "store">,
  companyId: CompanyId,
  purchaseId: PurchaseId,
): Promise<PurchaseReply> {
  const row = await lookUpPurchase(ports, companyId, purchaseId)
  if (row === null) throw new Error(`there is no purchase ${purchaseId}`)
  return answerTo(ports, row)
}

/** The answer to a purchase that stands like this. */
export async function answerTo(
  ports: Pick<Ports, "runner">,
  row: PurchaseRow,
): Promise<PurchaseReply> {
  if (row.state === "failed") return failed(row.code ?? "", null)
  const payment = { name: row.purchase_id, amountMicros: row.amount_micros }
  const fundsMicros = await fundsNow(ports, row.company_id)
  if (row.state === "pending")
    return notYet(payment, "unconfirmed", row.payment_id, fundsMicros, null)
  return paid(payment, row.payment_id ?? "", fundsMicros, null)
}
