/**
 * Looks whether a company's card is good: the processor has it hold a sum, and lets go of it at once. What
 * was held and not let go, for the processor was silent or a process died in between, is found by its name
 * and let go by whoever takes the row.
 */
import { z } from "zod"
import { cardCheckOf, processorCustomerOf } from "../../../domain/access/access.ts"
import { accessOf } from "../../../domain/access/aggregates.ts"
import { parseHoldId } from "../../../domain/access/access-events.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { CardPayment, HoldAnswer, HoldEnd } from "../../../adapters/providers/cards/port.ts"
import { onceAccepted } from "../../../adapters/providers/outside.ts"
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
export const cardCheck = effect({
  kind: "check-card",
  askKind: "ask-hold",
  isAwaited: true,
  payload: Payload,
  provider: "the processor",
  about: "the hold",
  unknownTo: "nobody began this hold",
  from: {
    CardCheckStarted: ({ holdId, amountMicros, at }) => {
      return [{ name: holdId, payload: { holdId, amountMicros, startedAt: at }, dueAt: at }]
    },
  },
  until: {
    CardVerified: ({ holdId }) => [holdId],
    CardCheckFailed: ({ holdId }) => [holdId],
  },
  begunAt: ({ startedAt }) => startedAt,
  look: async ({ runner }, { companyId, payload: { holdId } }) => {
    const check = await runner.readLatest(accessOf(companyId), cardCheckOf)
    // A card is looked at once more only when the look before has ended.
    return check?.holdId === holdId && check.outcome === null ? "open" : "ended"
  },
  act: async (ports, work) => {
    const hold = await holdOf(ports, work)
    return letGo(ports.cards, hold, await ports.cards.hold(hold))
  },
  ask: async (ports, work) => {
    const hold = await holdOf(ports, work)
    const known = await ports.cards.askHold(hold)
    // An order that was never carried out is withdrawn like one that never arrived.
    if (known.answer === "unknown" || known.answer === "unconfirmed") return "unknown"
    return letGo(ports.cards, hold, known)
  },
  isRepeatable: () => true,
  end: async ({ runner }, { companyId, payload: { holdId } }, { answer }, cause) => {
    if (answer === "processing" || answer === "unconfirmed") return false
    const fault = answer === "released" ? null : answer
    const command = { type: "EndCardCheck" as const, holdId, fault }
    const ended = await runner.execute(accessOf(companyId), command, cause)
    if (!ended.accepted) throw new Error(`hold ${holdId} could not be ended`)
    return true
  },
  unavailable: { answer: "payment_failed" },
  // It is taken back, so that nobody who was held up makes it afterwards.
  unknown: async (ports, work) => {
    const hold = await holdOf(ports, work)
    const left = await askCards(ports, (cards) => cards.release(hold))
    return left?.answer === "unconfirmed" ? null : left
  },
  // What may still be held lapses with the processor: nobody takes it.
  givenUp: { answer: "payment_failed" },
  endsWithCompany: true,
})

/** What a hold came to, which is not left on the card. */
async function letGo(
  cards: Ports["cards"],
  hold: CardPayment,
  known: HoldAnswer,
): Promise<HoldEnd> {
  if (known.answer !== "held") return known
  const { paymentId } = known
  return onceAccepted("the processor", () => cards.release({ ...hold, paymentId }))
}

async function holdOf(
  { runner }: Pick<Ports, "runner">,
  { companyId, payload }: { readonly companyId: CompanyId; readonly payload: Payload },
): Promise<CardPayment> {
  const { holdId: name, amountMicros, startedAt: begunAt } = payload
  const customerId = await runner.readLatest(accessOf(companyId), processorCustomerOf)
  return { name, companyId, amountMicros, begunAt, customerId, paymentId: null }
}
