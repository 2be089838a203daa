/**
 * Collects the debt of a pay-by-card company after each month: the card pays it into the funds. If the payment
 * fails, the account is locked until an operator unlocks it.
 */
import { z } from "zod"
import type { Job } from "../../frame/effects/reaction.ts"
import { reaction } from "../../frame/effects/reaction.ts"
import { ledgerStreamOf } from "../../../domain/charging/aggregates.ts"
import { accessStreamOf } from "../../../domain/access/aggregates.ts"
import type { PaymentOrder, PaymentStatus } from "../../../adapters/providers/cards/port.ts"
import type { JobResult } from "../../../adapters/postgres/jobs/port.ts"
import { companyProfileOf, processorCustomerOf } from "../../../domain/access/access.ts"
import type { LedgerCommand } from "../../../domain/charging/ledger-commands.ts"
import { accountOf } from "../../../domain/charging/ledger-views.ts"
import { causedBy } from "../../frame/kernel/envelope.ts"
import { derivedId } from "../../frame/kernel/ids.ts"
import type { Ports } from "../../frame/ports.ts"
import { NO_CUSTOMER_ADVICE, isCustomerUnknown } from "../processor-customer.ts"
import { askCards } from "./ask-cards.ts"
import { STUCK_AFTER_MS, nextCheckDelayMs } from "../../frame/effects/effect-times.ts"
import { isFinalPayment } from "./settle-purchase.ts"

const MICROS_PER_CENT = 10_000
/** Processors accept no smaller amounts; a smaller debt waits for the next month. */
const MIN_COLLECTED_MICROS = 1_000_000

// The debt when the month was closed.
const OwedPayload = z.object({ month: z.string(), owedMicros: z.number(), closedAt: z.number() })

/** Collects the debt of a month. */
export const collectCredit = reaction({
  kind: "collect-credit",
  payload: OwedPayload,
  on: {
    MonthClosed: ({ month, at, fundsMicros }, { companyId }) => {
      if (fundsMicros >= 0) return []
      const payload = { month, owedMicros: -fundsMicros, closedAt: at }
      const [name, subject] = [`${companyId}:${month}`, `${companyId} credit`]
      return [{ name, subject, payload, dueAt: at }]
    },
  },
  discard: "never",
  perform: collect,
})

async function collect(
  ports: Pick<Ports, "cardPages" | "cards" | "clock" | "pacer" | "runner">,
  work: Job<z.infer<typeof OwedPayload>>,
): Promise<JobResult> {
  const { companyId, payload } = work
  const { month, owedMicros, closedAt: startedAt } = payload
  if (owedMicros < MIN_COLLECTED_MICROS) return { result: "done" }
  const amountMicros = Math.ceil(owedMicros / MICROS_PER_CENT) * MICROS_PER_CENT
  const customerId = await ports.runner.readLatest(accessStreamOf(companyId), processorCustomerOf)
  const { payment, known } = await lastAttempt(ports, month, {
    companyId,
    amountMicros,
    startedAt,
    customerId,
    paymentId: null,
    sharedPaymentToken: null,
  })
  const answer = known?.answer === "unknown" ? await order(ports, payment, owedMicros) : known
  if (answer === "nothing") return { result: "done" }
  if (answer === "no customer") {
    return { result: "stuck", reason: `${NO_CUSTOMER_ADVICE} Then run \`job retry\`.` }
  }
  const isOpen = answer === null || answer.answer === "unknown" || !isFinalPayment(answer)
  if (isOpen || isUntried(answer)) {
    return retryResult(ports, startedAt, answer?.answer ?? null)
  }
  const isPaid = answer.answer === "paid"
  const reference = `collection ${month}`
  const command: LedgerCommand = isPaid
    ? { type: "AddFunds", amountMicros, reference }
    : { type: "LockAccount" }
  const stream = ledgerStreamOf(companyId)
  const done = await ports.runner.execute(stream, command, causedBy(`collect-credit ${month}`))
  // The card was charged, but the ledger rejects the payment: an operator must decide.
  if (!done.accepted)
    return { result: "stuck", reason: `${payment.idempotencyKey} is paid: ${done.refusal.type}` }
  return { result: "done" }
}

/**
 * The last attempt to collect a month, with its status at the processor. A payment canceled before the card was
 * tried is final, so the next attempt gets its own id.
 */
async function lastAttempt(
  ports: Pick<Ports, "cards" | "pacer">,
  month: string,
  parts: Omit<PaymentOrder, "idempotencyKey">,
): Promise<{ readonly payment: PaymentOrder; readonly known: PaymentStatus | null }> {
  for (let attempt = 0; ; attempt += 1) {
    const suffix = attempt === 0 ? [] : [String(attempt)]
    const payment = {
      ...parts,
      idempotencyKey: derivedId("col", parts.companyId, month, ...suffix),
    }
    const known = await askCards(ports, (cards) => cards.checkPaymentStatus(payment))
    if (known === null || !isUntried(known)) return { payment, known }
  }
}

function isUntried(answer: PaymentStatus): boolean {
  return "isCardUntried" in answer && answer.isCardUntried
}

/** Orders the payment, unless the debt is paid meanwhile. */
async function order(
  ports: Pick<Ports, "cardPages" | "cards" | "pacer" | "runner">,
  payment: PaymentOrder,
  owedMicros: number,
): Promise<PaymentStatus | "nothing" | "no customer" | null> {
  const { companyId, customerId } = payment
  const profile = await ports.runner.read(accessStreamOf(companyId), companyProfileOf)
  const account = await ports.runner.read(ledgerStreamOf(companyId), accountOf)
  const isPaidMeanwhile = -account.fundsMicros < owedMicros
  if (profile?.pays !== "card" || account.closed || isPaidMeanwhile) return "nothing"
  if (profile.card === null) return { answer: "no_card", paymentId: null }
  if (isCustomerUnknown(ports, customerId)) return "no customer"
  return askCards(ports, (cards) => cards.pay(payment))
}

/** @param answer null if the processor did not answer, or its account does not allow the payment */
function retryResult(
  { clock, cards }: Pick<Ports, "cards" | "clock">,
  startedAt: number,
  answer: PaymentStatus["answer"] | null,
): JobResult {
  const ageMs = clock.now() - startedAt
  const isStuck = answer === null || answer === "unconfirmed"
  if (isStuck && ageMs >= STUCK_AFTER_MS) {
    const { message: fault = null } = cards.configurationError() ?? {}
    const reason =
      answer === null
        ? (fault ?? "the processor has not answered for 72 hours")
        : "the processor has not executed the payment for 72 hours: confirm it there, or cancel it there to order it " +
          "again, then run `job retry`"
    return { result: "stuck", reason }
  }
  return { result: "rescheduled", dueAt: clock.now() + nextCheckDelayMs(ageMs, null) }
}
