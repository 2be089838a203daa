/**
 * The built-in test processor: it takes no money from anybody, and remembers what it said. What it
 * does next with a company's card is set by `card set`, with all cards and wallets by
 * `simulator set cards …`.
 */
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { Micros } from "../../../domain/kernel/money.ts"
import type { Pacer } from "../../machine/clock/port.ts"
import { ProviderMisconfigured, ProviderSilent, ProviderUnavailable } from "../outside.ts"
import type { Simulator, SimulatedThings, SimulatorMemory, Simulators } from "../simulators/port.ts"
import type {
  CardOutcome,
  CardPayment,
  Cards,
  HoldAnswer,
  HoldEnd,
  OrderedPayment,
  PaymentAnswer,
  TestCards,
} from "./port.ts"
import { CARD_OUTCOMES } from "./port.ts"

/** What it can be told to do. */
export const CARDS = {
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

const SLOW_MS = 2_000

/** What is remembered of a payment, by its name. */
interface TakenPayment {
  readonly amountMicros: Micros
  readonly source: "card" | "wallet"
  readonly status: CardOutcome
}

/** What is remembered of a company's card, by the company's id. */
interface TestCard {
  readonly outcome: CardOutcome
}

/** What is remembered of a hold, by its name. `paid`: the card holds it. */
interface TakenHold {
  readonly amountMicros: Micros
  readonly status: CardOutcome | "released"
}

/** What the built-in processor works with. */
interface BuiltInCardsPorts {
  readonly memory: SimulatorMemory
  readonly simulators: Simulators
  readonly pacer: Pacer
}

/**
 * The built-in processor. Its calls throw ProviderUnavailable, ProviderMisconfigured and ProviderSilent, as
 * they are set to.
 */
export function openBuiltInCards(ports: BuiltInCardsPorts): Cards & TestCards {
  const { memory, simulators, pacer } = ports
  const payments = memory.of<TakenPayment>({ provider: CARDS.name, kind: "payment", lasting: true })
  const testCards = memory.of<TestCard>({ provider: CARDS.name, kind: "card" })
  const outcomeOf = async (companyId: CompanyId): Promise<CardOutcome> =>
    (await testCards.find(companyId))?.outcome ?? "paid"
  const ask = async ({ name, companyId }: CardPayment) => {
    const known = await payments.find(name)
    if (known === null) return { answer: "unknown" } as const
    if (!isUnderWay(known)) return answerOf(name, known)
    // What was under way comes to its end when it is asked about: paid, unless the card fails by now.
    const wanted = known.source === "card" ? await outcomeOf(companyId) : "paid"
    const status = wanted === "declined" || wanted === "payment_failed" ? wanted : "paid"
    const ended = await payments.change(name, companyId, (now) => {
      return now === null || isUnderWay(now) ? { ...(now ?? known), status } : now
    })
    return answerOf(name, ended)
  }
  const begin = async () => {
    const outcome = await simulators.next(CARDS)
    if (outcome === "unavailable") throw new ProviderUnavailable("the processor answered 503")
    if (outcome === "misconfigured") {
      throw new ProviderMisconfigured("the processor rejects the request: it is set to")
    }
    if (outcome === "slow") await pacer.pause(SLOW_MS)
    return outcome
  }
  const cards = rememberOrders({
    ...holdsOf(memory, begin, outcomeOf),
    pay: async (payment) => {
      const outcome = await begin()
      const isFromCard = payment.sharedPaymentToken === null
      const own = isFromCard ? await outcomeOf(payment.companyId) : "paid"
      const taken = await take(payments, payment, isFromCard, cardOutcome(outcome) ?? own)
      if (outcome === "silent") throw silent()
      return answerOf(payment.name, taken)
    },
    ask,
    withdraw: async (payment) => {
      await take(payments, payment, true, "payment_failed")
      const known = await ask(payment)
      if (known.answer === "unknown") throw new ProviderSilent("the payment is not there any more")
      return known
    },
  })
  return {
    ...cards,
    set: async (companyId, outcome) => {
      if (outcome === null) return testCards.forget(companyId)
      await testCards.change(companyId, companyId, () => ({ outcome }))
    },
  }
}

/** Sums that cards hold for a moment. @param begin what is to go wrong with this call */
function holdsOf(
  memory: SimulatorMemory,
  begin: () => Promise<string>,
  outcomeOf: (companyId: CompanyId) => Promise<CardOutcome>,
): Pick<Cards, "hold" | "askHold" | "release"> {
  const holds = memory.of<TakenHold>({ provider: CARDS.name, kind: "hold", lasting: true })
  /** What was under way comes to its end when it is looked at, as the card stands by then. */
  const lookAt = (hold: CardPayment, end: (status: TakenHold["status"]) => TakenHold["status"]) =>
    outcomeOf(hold.companyId).then((own) =>
      holds.change(hold.name, hold.companyId, (known) => {
        const { amountMicros } = hold
        const found = known ?? { amountMicros, status: "payment_failed" }
        const status = end(isUnderWay(found) ? (own === "declined" ? own : "paid") : found.status)
        return status === known?.status ? known : { ...found, status }
      }),
    )
  return {
    hold: async (hold) => {
      const outcome = await begin()
      const { name, companyId, amountMicros } = hold
      const status = cardOutcome(outcome) ?? (await outcomeOf(companyId))
      const taken = await holds.keep(name, companyId, { amountMicros, status })
      if (outcome === "silent") throw silent()
      return holdAnswerOf(name, taken)
    },
    askHold: async (hold) => {
      if ((await holds.find(hold.name)) === null) return { answer: "unknown" }
      return holdAnswerOf(hold.name, await lookAt(hold, (status) => status))
    },
    release: async (hold) => {
      const outcome = await begin()
      const { status } = await lookAt(hold, (now) => (now === "paid" ? "released" : now))
      if (outcome === "silent" || status === "paid") throw silent()
      return { answer: status }
    },
  }
}

function holdAnswerOf(name: string, { status }: TakenHold): HoldAnswer {
  return status === "paid"
    ? { answer: "held", paymentId: `builtin-${name}` }
    : ({ answer: status } satisfies HoldEnd)
}

const silent = () => new ProviderSilent("the processor did not answer")

/** Whether a payment has no end yet. */
function isUnderWay({ status }: Pick<TakenPayment | TakenHold, "status">): boolean {
  return status === "processing" || status === "unconfirmed"
}

/** An outcome that is one of a payment's; null for those of every stand-in. */
function cardOutcome(outcome: string): CardOutcome | null {
  return CARD_OUTCOMES.find((one) => one === outcome) ?? null
}

/** Of two that ask for the same payment at once both see what the first one got. */
function take(
  payments: SimulatedThings<TakenPayment>,
  { name, companyId, amountMicros }: CardPayment | OrderedPayment,
  isFromCard: boolean,
  status: CardOutcome,
): Promise<TakenPayment> {
  const source = isFromCard ? "card" : "wallet"
  return payments.keep(name, companyId, { amountMicros, source, status })
}

function answerOf(name: string, { status }: TakenPayment): PaymentAnswer {
  return { answer: status, paymentId: `builtin-${name}` }
}

/** The same processor, which says `misconfigured` of the last order that this process sent. */
export function rememberOrders(cards: Omit<Cards, "misconfigured">): Cards {
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
    misconfigured: () => fault,
  }
}
