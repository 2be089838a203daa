/**
 * The built-in test carrier: it takes every text, remembers it and sends nothing out of this machine, and
 * it sells numbers that nobody has.
 * What it does next can be set (`simulator set carrier …`).
 */
import type { Pacer } from "../../machine/clock/port.ts"
import { ProviderSilent, ProviderUnavailable } from "../outside.ts"
import { CARRIER } from "./simulator.ts"
import type { SimulatorMemory, Simulators } from "../simulators/port.ts"
import type { KnownOrder, SoldNumber } from "./built-in-numbers.ts"
import { builtInNumbers } from "./built-in-numbers.ts"
import type { Carrier, CarrierAnswer, CarrierKnowledge, OutgoingText } from "./port.ts"
import { NOTHING_COMES, builtInCarrierId } from "./port.ts"

const SLOW_MS = 2_000
const UNKNOWN_IS_NO_AFTER_MS = 10 * 60_000

/** What is remembered of a text, by its id. */
interface TakenText {
  readonly status: "accepted" | "rejected" | "delivered" | "undelivered"
  readonly errorCode: string | null
}

/** What the built-in carrier works with. */
export interface BuiltInCarrierPorts {
  readonly memory: SimulatorMemory
  readonly simulators: Simulators
  readonly pacer: Pacer
}

/** Told, before the answer, when the built-in carrier cannot deliver a text that it takes. */
export type OnUndelivered = (text: OutgoingText, errorCode: string) => Promise<void> | void

/** The built-in carrier. Its calls throw ProviderUnavailable and ProviderSilent, as they are set to. */
export function openBuiltInCarrier(
  { memory, simulators, pacer }: BuiltInCarrierPorts,
  onUndelivered: OnUndelivered,
): Carrier {
  const texts = memory.of<TakenText>({ provider: CARRIER.name, kind: "text" })
  const take = ({ textId, companyId }: OutgoingText, status: TakenText["status"], code?: string) =>
    texts.keep(textId, companyId, { status, errorCode: code ?? null })
  const next = () => simulators.next(CARRIER)
  return {
    isBuiltIn: true,
    isRepeatable: true,
    answersKeywords: false,
    unknownIsNoAfterMs: UNKNOWN_IS_NO_AFTER_MS,
    // What it receives an operator hands it.
    ...NOTHING_COMES,
    // It answers no keywords: the company's own replies are sent.
    setReplies: async () => undefined,
    // What it remembers goes with the company's rows.
    forgetCompany: async () => undefined,
    ...builtInNumbers({
      sold: memory.of<SoldNumber>({ provider: CARRIER.name, kind: "number" }),
      orders: memory.of<KnownOrder>({ provider: CARRIER.name, kind: "order" }),
      next,
      nextOf: async (outcomes) => {
        const set = (await simulators.list()).find(({ name }) => name === CARRIER.name)
        return outcomes.some((one) => one === set?.outcome) ? next() : "ok"
      },
    }),
    send: async (text): Promise<CarrierAnswer> => {
      const outcome = await next()
      if (outcome === "unavailable") throw new ProviderUnavailable("the carrier answered 503")
      if (outcome === "slow") await pacer.pause(SLOW_MS)
      if (outcome === "reject") return answerOf(text.textId, await take(text, "rejected", "30007"))
      const taken = await take(text, "accepted")
      if (outcome === "silent") throw new ProviderSilent("the carrier did not answer")
      if (outcome === "undelivered") await onUndelivered(text, "30003")
      return answerOf(text.textId, taken)
    },
    ask: async ({ textId }): Promise<CarrierKnowledge> => {
      const taken = await texts.find(textId)
      if (taken === null) return { answer: "unknown" }
      const carrierId = builtInCarrierId(textId)
      if (taken.status === "delivered") return { answer: "delivered", carrierId }
      if (taken.status === "undelivered") {
        return { answer: "undelivered", carrierId, errorCode: taken.errorCode ?? "unknown" }
      }
      return answerOf(textId, taken)
    },
  }
}

function answerOf(textId: string, { status, errorCode }: TakenText): CarrierAnswer {
  if (status === "rejected") return { answer: "rejected", errorCode: errorCode ?? "unknown" }
  return { answer: "accepted", carrierId: builtInCarrierId(textId) }
}
