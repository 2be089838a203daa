/**
 * The simulated card processor: it takes no money and stores its answers. Operators set the outcome
 * of one company's card with `card set`, and of all cards and wallets with `simulator set cards …`.
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

/** The simulator's outcomes. */
export const CARDS_SIMULATOR = {
  name: "cards",
  outcomes: [
    "declined",
    "payment_failed",
    "needs_owner",
    "processing",
    "unconfirmed",
    // Rejects every order, like a processor whose account is not set up for it.
    "misconfigured",
  ] as const,
} as const satisfies Simulator

const SLOW_DELAY_MS = 2_000

/** A stored payment; its key is the record's name. */
interface SimulatedPayment {
  readonly amountMicros: Micros
  readonly source: "card" | "wallet"
  readonly status: SimulatedCardOutcome
}

/** A stored card, by company id. */
interface SimulatedCard {
  readonly outcome: SimulatedCardOutcome
}

/** A stored hold; its key is the record's name. `paid`: the card holds the amount. */
interface SimulatedHold {
  readonly amountMicros: Micros
  readonly status: SimulatedCardOutcome | "released"
}

interface SimulatedCardsPorts {
  readonly simulatorMemory: SimulatorStore
  readonly simulators: Simulators
  readonly pacer: Pacer
}

/**
 * Opens the simulator. Its calls throw ProviderUnavailable, ProviderMisconfigured and
 * ProviderOutcomeUnknown as the simulator is set.
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
    // A status check settles a pending payment: as paid, unless the card is set to fail.
    const cardOutcome = known.source === "card" ? await outcomeOf(companyId) : "paid"
    const status =
      cardOutcome === "declined" || cardOutcome === "payment_failed" ? cardOutcome : "paid"
    const settled = await payments.update(idempotencyKey, companyId, (current) => {
      return current === null || isUnsettled(current) ? { ...(current ?? known), status } : current
    })
    return paymentAnswerOf(idempotencyKey, settled)
  }
  const begin = async () => {
    const outcome = await simulators.nextOutcome(CARDS_SIMULATOR)
    if (outcome === "unavailable") throw new ProviderUnavailable("the processor answered 503")
    if (outcome === "misconfigured") {
      throw new ProviderMisconfigured(
        "the simulated processor rejects the request, because its outcome is set to misconfigured",
      )
    }
    if (outcome === "slow") await pacer.pause(SLOW_DELAY_MS)
    return outcome
  }
  const cards = trackConfigurationError({
    ...simulateHolds(memory, begin, outcomeOf),
    pay: async (payment) => {
      const outcome = await begin()
      const isFromCard = payment.sharedPaymentToken === null
      const cardOutcome = isFromCard ? await outcomeOf(payment.companyId) : "paid"
      const stored = await storePayment(
        payments,
        payment,
        isFromCard,
        toCardOutcome(outcome) ?? cardOutcome,
      )
      if (outcome === "silent") throw noAnswerError()
      return paymentAnswerOf(payment.idempotencyKey, stored)
    },
    checkPaymentStatus,
    cancelPayment: async (payment) => {
      await storePayment(payments, payment, true, "payment_failed")
      const known = await checkPaymentStatus(payment)
      if (known.answer === "unknown")
        throw new ProviderOutcomeUnknown("the simulated payment no longer exists")
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

/** Simulates holds. @param begin applies the next outcome of the simulator */
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
  /** Settles a pending hold by the card's outcome, then applies `end` to its status. */
  const settle = (
    hold: CardPayment,
    end: (status: SimulatedHold["status"]) => SimulatedHold["status"],
  ) =>
    outcomeOf(hold.companyId).then((cardOutcome) =>
      holds.update(hold.idempotencyKey, hold.companyId, (known) => {
        const { amountMicros } = hold
        const found = known ?? { amountMicros, status: "payment_failed" }
        const status = end(
          isUnsettled(found) ? (cardOutcome === "declined" ? cardOutcome : "paid") : found.status,
        )
        return status === known?.status ? known : { ...found, status }
      }),
    )
  return {
    hold: async (hold) => {
      const outcome = await begin()
      const { idempotencyKey, companyId, amountMicros } = hold
      const status = toCardOutcome(outcome) ?? (await outcomeOf(companyId))
      const stored = await holds.insertIfAbsent(idempotencyKey, companyId, { amountMicros, status })
      if (outcome === "silent") throw noAnswerError()
      return holdAnswerOf(idempotencyKey, stored)
    },
    checkHoldStatus: async (hold) => {
      if ((await holds.find(hold.idempotencyKey)) === null) return { answer: "unknown" }
      return holdAnswerOf(hold.idempotencyKey, await settle(hold, (status) => status))
    },
    release: async (hold) => {
      const outcome = await begin()
      const { status } = await settle(hold, (now) => (now === "paid" ? "released" : now))
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

function isUnsettled({ status }: Pick<SimulatedPayment | SimulatedHold, "status">): boolean {
  return status === "processing" || status === "unconfirmed"
}

/** The outcome of a payment; null for outcomes that every simulator has. */
function toCardOutcome(outcome: string): SimulatedCardOutcome | null {
  return SIMULATED_CARD_OUTCOMES.find((one) => one === outcome) ?? null
}

/** Stores a payment. Concurrent calls for the same key all get the first one's payment. */
function storePayment(
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

/** Wraps a processor so that it reports the configuration error of this process's last order. */
export function trackConfigurationError(
  cards: Omit<CardProcessor, "configurationError">,
): CardProcessor {
  let fault: ProviderMisconfigured | null = null
  const tracking =
    <P, A extends object>(order: (payment: P) => Promise<A>) =>
    async (payment: P): Promise<A> => {
      try {
        const answer = await order(payment)
        // An answer without a payment id says nothing about our account.
        if ("paymentId" in answer && answer.paymentId !== null) fault = null
        return answer
      } catch (error) {
        if (error instanceof ProviderMisconfigured) fault = error
        throw error
      }
    }
  return {
    ...cards,
    pay: tracking(cards.pay),
    hold: tracking(cards.hold),
    configurationError: () => fault,
  }
}
