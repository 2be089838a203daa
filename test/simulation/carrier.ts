/** A carrier that is sometimes away or silent, and knows each text by our own id for it. */
import type {
  Carrier,
  CarrierAnswer,
  CarrierKnowledge,
  OutgoingText,
} from "../../adapters/providers/carrier/port.ts"
import { ProviderSilent, ProviderUnavailable } from "../../adapters/providers/outside.ts"
import type { Chance } from "./chance.ts"
import type { Owner } from "./schedule.ts"
import type { Wire } from "./wire.ts"
import { ask } from "./wire.ts"
import { NOTHING_COMES } from "../../adapters/providers/carrier/port.ts"

/** What the carrier did with the texts that it got. */
export class CarrierOffice {
  readonly #answers = new Map<string, CarrierAnswer>()
  readonly #chance: Chance
  /** Whether it is in order: it is away and silent otherwise, now and then. */
  isCalm = false

  constructor(chance: Chance) {
    this.#chance = chance
  }

  /** Whether a text went out. */
  hasSent(textId: string): boolean {
    return this.#answers.get(textId)?.answer === "accepted"
  }

  /** Takes a text; the same again is one text. @throws ProviderUnavailable, ProviderSilent */
  send({ textId }: OutgoingText): CarrierAnswer {
    const chance = this.#chance
    if (!this.isCalm && chance.happens(0.1)) throw new ProviderUnavailable("fault: away")
    if (!this.isCalm && chance.happens(0.1)) throw new ProviderSilent("fault: it never came")
    const answer = this.#answers.get(textId) ?? this.#decide(textId)
    this.#answers.set(textId, answer)
    if (!this.isCalm && chance.happens(0.1)) throw new ProviderSilent("fault: no answer")
    return answer
  }

  #decide(textId: string): CarrierAnswer {
    return this.#chance.happens(0.15)
      ? { answer: "rejected", errorCode: "no_such_number" }
      : { answer: "accepted", carrierId: `carrier-${textId}` }
  }

  /** Says what became of a text. @throws ProviderUnavailable, ProviderSilent */
  ask(textId: string): CarrierKnowledge {
    if (!this.isCalm && this.#chance.happens(0.2)) throw new ProviderSilent("fault: no answer")
    return this.#answers.get(textId) ?? { answer: "unknown" }
  }
}

/** The carrier as a process reaches it. */
export function carrierOf(office: CarrierOffice, wire: Wire, owner: Owner): Carrier {
  return {
    isBuiltIn: true,
    isRepeatable: true,
    answersKeywords: false,
    unknownIsNoAfterMs: 600_000,
    ...NOTHING_COMES,
    send: (text) => ask(wire, owner, () => office.send(text)),
    ask: ({ textId }) => ask(wire, owner, () => office.ask(textId)),
    setReplies: async () => undefined,
    forgetCompany: async () => undefined,
    search: async () => [],
    buy: async () => ({ answer: "taken" }),
    askOrder: async () => ({ answer: "unknown" }),
    release: async () => undefined,
  }
}
