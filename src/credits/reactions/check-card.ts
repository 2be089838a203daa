/**
 * Verifies a company's card: the processor holds an amount and releases it immediately. A hold that was not
 * released, because the processor was silent or the process died, is found by its id and released by the next
 * run of the job.
 */
import { z } from "zod"
import { cardCheckOf, processorCustomerOf } from "../../../domain/access/access.ts"
import { accessStreamOf } from "../../../domain/access/aggregates.ts"
import { parseHoldId } from "../../../domain/access/access-events.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type {
  CardPayment,
  HoldAnswer,
  EndedHoldAnswer,
} from "../../../adapters/providers/cards/port.ts"
import { withUnknownOutcome } from "../../../adapters/providers/provider-errors.ts"
import { effect } from "../../frame/effects/effect.ts"
import { idSchema } from "../../frame/kernel/schema.ts"
import type { Ports } from "../../frame/ports.ts"
import { askCards } from "./ask-cards.ts"

const Payload = z.object({
  holdId: idSchema(parseHoldId),
  amountMicros: z.number(),
  startedAt: z.number(),
})

type Payload = z.infer<typeof Payload>

export const cardCheckEffect = effect({
  kind: "check-card",
  checkKind: "ask-hold",
  isAwaited: true,
  payload: Payload,
  provider: "the processor",
  label: "the hold",
  missingReason: "there is no such hold",
  on: {
    CardCheckStarted: ({ holdId, amountMicros, at }) => {
      return [{ name: holdId, payload: { holdId, amountMicros, startedAt: at }, dueAt: at }]
    },
  },
  endOn: {
    CardVerified: ({ holdId }) => [holdId],
    CardCheckFailed: ({ holdId }) => [holdId],
  },
  startedAt: ({ startedAt }) => startedAt,
  checkStatus: async ({ runner }, { companyId, payload: { holdId } }) => {
    const check = await runner.readLatest(accessStreamOf(companyId), cardCheckOf)
    // A card is checked again only after the previous check has ended.
    return check?.holdId === holdId && check.outcome === null ? "open" : "ended"
  },
  callProvider: async (ports, work) => {
    const hold = await holdOf(ports, work)
    return releaseHold(ports.cards, hold, await ports.cards.hold(hold))
  },
  checkProvider: async (ports, work) => {
    const hold = await holdOf(ports, work)
    const known = await ports.cards.checkHoldStatus(hold)
    // An unprocessed order is withdrawn like one that never arrived.
    if (known.answer === "unknown" || known.answer === "unconfirmed") return "unknown"
    return releaseHold(ports.cards, hold, known)
  },
  isIdempotent: () => true,
  recordOutcome: async ({ runner }, { companyId, payload: { holdId } }, { answer }, cause) => {
    if (answer === "processing" || answer === "unconfirmed") return false
    const fault = answer === "released" ? null : answer
    const command = { type: "EndCardCheck" as const, holdId, failure: fault }
    const ended = await runner.execute(accessStreamOf(companyId), command, cause)
    if (!ended.accepted) throw new Error(`hold ${holdId} could not be ended`)
    return true
  },
  unavailableOutcome: { answer: "payment_failed" },
  // The hold is withdrawn, so that a delayed process cannot make it afterwards.
  notReceivedOutcome: async (ports, work) => {
    const hold = await holdOf(ports, work)
    const released = await askCards(ports, (cards) => cards.release(hold))
    return released?.answer === "unconfirmed" ? null : released
  },
  // A remaining hold expires at the processor without a payment.
  discardedOutcome: { answer: "payment_failed" },
  isDiscardedOnErasure: true,
})

async function releaseHold(
  cards: Ports["cards"],
  hold: CardPayment,
  known: HoldAnswer,
): Promise<EndedHoldAnswer> {
  if (known.answer !== "held") return known
  const { paymentId } = known
  return withUnknownOutcome("the processor", () => cards.release({ ...hold, paymentId }))
}

async function holdOf(
  { runner }: Pick<Ports, "runner">,
  { companyId, payload }: { readonly companyId: CompanyId; readonly payload: Payload },
): Promise<CardPayment> {
  const { holdId: idempotencyKey, amountMicros, startedAt } = payload
  const customerId = await runner.readLatest(accessStreamOf(companyId), processorCustomerOf)
  return { idempotencyKey, companyId, amountMicros, startedAt, customerId, paymentId: null }
}
