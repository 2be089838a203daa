/**
 * The built-in test processor: it takes no money from anybody, and remembers what it said. What it
 * does next with a company's card is set by `card set`, with all cards and wallets by
 * `simulator set cards …`.
 */
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { Micros } from "../../../domain/kernel/money.ts"
import type { Pacer } from "../../machine/clock/port.ts"
import {
  ProviderMisconfigured,
  ProviderOutcomeUnknown,
  ProviderUnavailable,
} from "../provider-errors.ts"
import type { Simulator, SimulatedRecords, SimulatorStore, Simulators } from "../simulators/port.ts"
import type {
  SimulatedCardOutcome,
  CardPayment,
  CardProcessor,
  HoldAnswer,
  EndedHoldAnswer,
  PaymentOrder,
  PaymentAnswer,
  SimulatedCards,
} from "./port.ts"
import { SIMULATED_CARD_OUTCOMES } from "./port.ts"

/** What it can be told to do. */
export const CARDS_SIMULATOR = {
  name: "cards",
  outcomes: [
    "declined",
    "payment_failed",
    "needs_owner",
    "processing",
    "unconfirmed",
    // It rejects every order, as a processor does whose account is not set up for what we ask.
    "misconfigured",
  ] as const,
} as const satisfies Simulator

const SLOW_DELAY_MS = 2_000

/** What is remembered of a payment, by its name. */
interface SimulatedPayment {
  readonly amountMicros: Micros
  readonly source: "card" | "wallet"
  readonly status: SimulatedCardOutcome
}

/** What is remembered of a company's card, by the company's id. */
interface SimulatedCard {
  readonly outcome: SimulatedCardOutcome
}

/** What is remembered of a hold, by its name. `paid`: the card holds it. */
interface SimulatedHold {
  readonly amountMicros: Micros
  readonly status: SimulatedCardOutcome | "released"
}

/** What the built-in processor works with. */
interface SimulatedCardsPorts {
  readonly simulatorMemory: SimulatorStore
  readonly simulators: Simulators
  readonly pacer: Pacer
}

/**
 * The built-in processor. Its calls throw ProviderUnavailable, ProviderMisconfigured and ProviderOutcomeUnknown, as
 * they are set to.
 */
export function openSimulatedCards(ports: SimulatedCardsPorts): CardProcessor & SimulatedCards {
  const { simulatorMemory: memory, simulators, pacer } = ports
  const payments = memory.recordsOf<SimulatedPayment>({
    provider: CARDS_SIMULATOR.name,
    kind: "payment",
    isPermanent: true,
  })
  const testCards = memory.recordsOf<SimulatedCard>({
    provider: CARDS_SIMULATOR.name,
    kind: "card",
  })
  const outcomeOf = async (companyId: CompanyId): Promise<SimulatedCardOutcome> =>
    (await testCards.find(companyId))?.outcome ?? "paid"
  const checkPaymentStatus = async ({ idempotencyKey, companyId }: CardPayment) => {
    const known = await payments.find(idempotencyKey)
    if (known === null) return { answer: "unknown" } as const
    if (!isUnsettled(known)) return paymentAnswerOf(idempotencyKey, known)
    // What was under way comes to its end when it is asked about: paid, unless the card fails by now.
    const wanted = known.source === "card" ? await outcomeOf(companyId) : "paid"
    const status = wanted === "declined" || wanted === "payment_failed" ? wanted : "paid"
    const ended = await payments.update(idempotencyKey, companyId, (now) => {
      return now === null || isUnsettled(now) ? { ...(now ?? known), status } : now
    })
    return paymentAnswerOf(idempotencyKey, ended)
  }
  const begin = async () => {
    const outcome = await simulators.nextOutcome(CARDS_SIMULATOR)
    if (outcome === "unavailable") throw new ProviderUnavailable("the processor answered 503")
    if (outcome === "misconfigured") {
      throw new ProviderMisconfigured("the processor rejects the request: it is set to")
    }
    if (outcome === "slow") await pacer.pause(SLOW_DELAY_MS)
    return outcome
  }
  const cards = trackConfigurationError({
    ...simulateHolds(memory, begin, outcomeOf),
    pay: async (payment) => {
      const outcome = await begin()
      const isFromCard = payment.sharedPaymentToken === null
      const own = isFromCard ? await outcomeOf(payment.companyId) : "paid"
      const taken = await keepPayment(payments, payment, isFromCard, toCardOutcome(outcome) ?? own)
      if (outcome === "silent") throw noAnswerError()
      return paymentAnswerOf(payment.idempotencyKey, taken)
    },
    checkPaymentStatus,
    cancelPayment: async (payment) => {
      await keepPayment(payments, payment, true, "payment_failed")
      const known = await checkPaymentStatus(payment)
      if (known.answer === "unknown")
        throw new ProviderOutcomeUnknown("the payment is not there any more")
      return known
    },
  })
  return {
    ...cards,
    setOutcome: async (companyId, outcome) => {
      if (outcome === null) return testCards.remove(companyId)
      await testCards.update(companyId, companyId, () => ({ outcome }))
    },
  }
}

/** Sums that cards hold for a moment. @param begin what is to go wrong with this call */
function simulateHolds(
  memory: SimulatorStore,
  begin: () => Promise<string>,
  outcomeOf: (companyId: CompanyId) => Promise<SimulatedCardOutcome>,
): Pick<CardProcessor, "hold" | "checkHoldStatus" | "release"> {
  const holds = memory.recordsOf<SimulatedHold>({
    provider: CARDS_SIMULATOR.name,
    kind: "hold",
    isPermanent: true,
  })
  /** What was under way comes to its end when it is looked at, as the card stands by then. */
  const lookAt = (
    hold: CardPayment,
    end: (status: SimulatedHold["status"]) => SimulatedHold["status"],
  ) =>
    outcomeOf(hold.companyId).then((own) =>
      holds.update(hold.idempotencyKey, hold.companyId, (known) => {
        const { amountMicros } = hold
        const found = known ?? { amountMicros, status: "payment_failed" }
        const status = end(isUnsettled(found) ? (own === "declined" ? own : "paid") : found.status)
        return status === known?.status ? known : { ...found, status }
      }),
    )
  return {
    hold: async (hold) => {
      const outcome = await begin()
      const { idempotencyKey, companyId, amountMicros } = hold
      const status = toCardOutcome(outcome) ?? (await outcomeOf(companyId))
      const taken = await holds.insertIfAbsent(idempotencyKey, companyId, { amountMicros, status })
      if (outcome === "silent") throw noAnswerError()
      return holdAnswerOf(idempotencyKey, taken)
    },
    checkHoldStatus: async (hold) => {
      if ((await holds.find(hold.idempotencyKey)) === null) return { answer: "unknown" }
      return holdAnswerOf(hold.idempotencyKey, await lookAt(hold, (status) => status))
    },
    release: async (hold) => {
      const outcome = await begin()
      const { status } = await lookAt(hold, (now) => (now === "paid" ? "released" : now))
      if (outcome === "silent" || status === "paid") throw noAnswerError()
      return { answer: status }
    },
  }
}

function holdAnswerOf(name: string, { status }: SimulatedHold): HoldAnswer {
  return status === "paid"
    ? { answer: "held", paymentId: `builtin-${name}` }
    : ({ answer: status } satisfies EndedHoldAnswer)
}

const noAnswerError = () => new ProviderOutcomeUnknown("the processor did not answer")

/** Whether a payment has no end yet. */
function isUnsettled({ status }: Pick<SimulatedPayment | SimulatedHold, "status">): boolean {
  return status === "processing" || status === "unconfirmed"
}

/** An outcome that is one of a payment's; null for those of every stand-in. */
function toCardOutcome(outcome: string): SimulatedCardOutcome | null {
  return SIMULATED_CARD_OUTCOMES.find((one) => one === outcome) ?? null
}

/** Of two that ask for the same payment at once both see what the first one got. */
function keepPayment(
  payments: SimulatedRecords<SimulatedPayment>,
  { idempotencyKey, companyId, amountMicros }: CardPayment | PaymentOrder,
  isFromCard: boolean,
  status: SimulatedCardOutcome,
): Promise<SimulatedPayment> {
  const source = isFromCard ? "card" : "wallet"
  return payments.insertIfAbsent(idempotencyKey, companyId, { amountMicros, source, status })
}

function paymentAnswerOf(name: string, { status }: SimulatedPayment): PaymentAnswer {
  return { answer: status, paymentId: `builtin-${name}` }
}

/** The same processor, which says `misconfigured` of the last order that this process sent. */
export function trackConfigurationError(
  cards: Omit<CardProcessor, "configurationError">,
): CardProcessor {
  let fault: ProviderMisconfigured | null = null
  const remembering =
    <P, A extends object>(order: (payment: P) => Promise<A>) =>
    async (payment: P): Promise<A> => {
      try {
        const answer = await order(payment)
        // An answer without an id was found here, or says nothing about our account.
        if ("paymentId" in answer && answer.paymentId !== null) fault = null
        return answer
      } catch (error) {
        if (error instanceof ProviderMisconfigured) fault = error
        throw error
      }
    }
  return {
    ...cards,
    pay: remembering(cards.pay),
    hold: remembering(cards.hold),
    configurationError: () => fault,
  }
}
