/**
 * The built-in test processor: it takes no money from anybody, and remembers what it said. What it
 * does next with a company's card is set by `card set`, with all cards and wallets by
 * `stand-in set cards …`.
 */
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { Micros } from "../../../domain/kernel/money.ts"
import type { Pacer } from "../../clock/port.ts"
import { ProviderSilent, ProviderUnavailable } from "../outside.ts"
import type { Simulator, SimulatedThings, SimulatorMemory, Simulators } from "../simulators/port.ts"
import type {
  CardOutcome,
  CardPayment,
  Cards,
  OrderedPayment,
  PaymentAnswer,
  TestCards,
} from "./port.ts"
import { CARD_OUTCOMES } from "./port.ts"

/** What it can be told to do. */
export const CARDS = {
  name: "cards",
  outcomes: ["declined", "payment_failed", "needs_owner", "processing", "unconfirmed"],
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

/** What the built-in processor works with. */
export interface BuiltInCardsPorts {
  readonly memory: SimulatorMemory
  readonly simulators: Simulators
  readonly pacer: Pacer
}

/** The built-in processor. Its calls throw ProviderUnavailable and ProviderSilent, as they are set to. */
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
  return {
    pay: async (payment) => {
      const outcome = await simulators.next(CARDS)
      if (outcome === "unavailable") throw new ProviderUnavailable("the processor answered 503")
      if (outcome === "slow") await pacer.pause(SLOW_MS)
      const isFromCard = payment.sharedPaymentToken === null
      const own = isFromCard ? await outcomeOf(payment.companyId) : "paid"
      const taken = await take(payments, payment, isFromCard, cardOutcome(outcome) ?? own)
      if (outcome === "silent") throw new ProviderSilent("the processor did not answer")
      return answerOf(payment.name, taken)
    },
    ask,
    withdraw: async (payment) => {
      await take(payments, payment, true, "payment_failed")
      const known = await ask(payment)
      if (known.answer === "unknown") throw new ProviderSilent("the payment is not there any more")
      return known
    },
    set: async (companyId, outcome) => {
      if (outcome === null) return testCards.forget(companyId)
      await testCards.change(companyId, companyId, () => ({ outcome }))
    },
  }
}

/** Whether a payment has no end yet. */
function isUnderWay({ status }: TakenPayment): boolean {
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
  if (status === "paid" || status === "processing" || status === "unconfirmed") {
    return { answer: status, paymentId: `builtin-${name}` }
  }
  return { answer: status }
}
