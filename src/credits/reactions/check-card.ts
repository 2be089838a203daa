/**
 * Looks whether a company's card is good: the processor has it hold a sum, and lets go of it at once. What
 * was held and not let go, for the processor was silent or a process died in between, is found by its name
 * and let go by whoever takes the row.
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

/** The reactions that look at cards. */
export const cardCheckEffect = effect({
  kind: "check-card",
  checkKind: "ask-hold",
  isAwaited: true,
  payload: Payload,
  provider: "the processor",
  thingName: "the hold",
  missingReason: "nobody began this hold",
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
    // A card is looked at once more only when the look before has ended.
    return check?.holdId === holdId && check.outcome === null ? "open" : "ended"
  },
  callProvider: async (ports, work) => {
    const hold = await holdOf(ports, work)
    return releaseHold(ports.cards, hold, await ports.cards.hold(hold))
  },
  checkProvider: async (ports, work) => {
    const hold = await holdOf(ports, work)
    const known = await ports.cards.checkHoldStatus(hold)
    // An order that was never carried out is withdrawn like one that never arrived.
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
  // It is taken back, so that nobody who was held up makes it afterwards.
  notReceivedOutcome: async (ports, work) => {
    const hold = await holdOf(ports, work)
    const left = await askCards(ports, (cards) => cards.release(hold))
    return left?.answer === "unconfirmed" ? null : left
  },
  // What may still be held lapses with the processor: nobody takes it.
  discardedOutcome: { answer: "payment_failed" },
  isDiscardedOnErasure: true,
})

/** What a hold came to, which is not left on the card. */
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
