/**
 * Looks whether a company's card is good: the processor has it hold a sum, and lets go of it at once. What
 * was held and not let go, for the processor was silent or a process died in between, is found by its name
 * and let go by whoever takes the row.
 */
import { z } from "zod"
import { cardCheckOf } from "../../../domain/access/access.ts"
import { accessOf } from "../../../domain/access/aggregates.ts"
import { parseHoldId } from "../../../domain/access/card-events.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { CardPayment, HoldAnswer, HoldEnd } from "../../../adapters/providers/cards/port.ts"
import { onceAccepted } from "../../../adapters/providers/outside.ts"
import { effect } from "../../frame/effects/effect.ts"
import { idSchema } from "../../frame/kernel/id-schemas.ts"
import type { Ports } from "../../frame/ports.ts"
import { askCards } from "./ask-cards.ts"

/** The kind of its rows. */
export const CHECK_CARD = "check-card"

const Payload = z.object({
  holdId: idSchema(parseHoldId),
  amountMicros: z.number(),
  startedAt: z.number(),
})

type Payload = z.infer<typeof Payload>

/** The reactions that look at cards. */
export const cardCheck = effect<Payload, HoldEnd>({
  ...{ kind: CHECK_CARD, askKind: "ask-hold", payload: Payload },
  ...{ provider: "the processor", about: "the hold", unknownTo: "nobody began this hold" },
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
  act: async ({ cards }, work) => letGo(cards, holdOf(work), await cards.hold(holdOf(work))),
  ask: async ({ cards }, work) => {
    const known = await cards.askHold(holdOf(work))
    return known.answer === "unknown" ? "unknown" : letGo(cards, holdOf(work), known)
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
  unknown: (ports, work) => askCards(ports, (cards) => cards.release(holdOf(work), null)),
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
  return onceAccepted("the processor", () => cards.release(hold, known.paymentId))
}

function holdOf({
  companyId,
  payload,
}: {
  readonly companyId: CompanyId
  readonly payload: Payload
}): CardPayment {
  const { holdId: name, amountMicros, startedAt: begunAt } = payload
  return { name, companyId, amountMicros, begunAt }
}
