/** Everything that the processes of a run share, made from its seed. */
import { openMemoryEventStore } from "../../adapters/eventstore/memory.ts"
import type { MemoryEventStore } from "../../adapters/eventstore/memory.ts"
import type {
  Carrier,
  CarrierAnswer,
  CarrierKnowledge,
  OutgoingText,
} from "../../adapters/providers/carrier/port.ts"
import { NOTHING_COMES } from "../../adapters/providers/carrier/port.ts"
import { ProviderSilent, ProviderUnavailable } from "../../adapters/providers/outside.ts"
import type { DatabaseFlaws } from "./database.ts"
import { Database } from "./database.ts"
import { Records, Truth } from "./records.ts"
import type { Owner } from "./schedule.ts"
import { Chance, Schedule } from "./schedule.ts"
import type { Shared } from "./store.ts"
import type { Wire, Faults } from "./wire.ts"
import { ask, CALM } from "./wire.ts"

/** What the carrier did with the texts that it got. */
class CarrierOffice {
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

const DAY_MS = 86_400_000

/** The days on which runs begin: before borders of days, weeks, months and a year. */
const BEGINNINGS = [
  Date.UTC(2026, 10, 21, 12),
  Date.UTC(2026, 10, 21, 23, 59, 40),
  Date.UTC(2026, 10, 22, 23, 59, 30),
  Date.UTC(2026, 10, 30, 23, 59, 45),
  Date.UTC(2026, 11, 31, 23, 59, 35),
]

/** The world of a run. */
export class World implements Shared {
  readonly chance: Chance
  readonly schedule: Schedule
  readonly store: MemoryEventStore = openMemoryEventStore()
  readonly truth = new Truth()
  readonly doomed = new Set<Owner>()
  readonly records: Records
  readonly database: Database
  readonly carrier: CarrierOffice
  /** What goes wrong just now. */
  faults: Faults = CALM
  /** How often what went wrong. */
  readonly happened = new Map<string, number>()
  /** The ledger's time at the beginning, and what it was set forward or back by since. */
  #time: number
  #onTask: (owner: Owner) => void = () => undefined

  constructor(seed: number, flaws: DatabaseFlaws) {
    this.chance = new Chance(seed)
    this.schedule = new Schedule(this.chance, (owner) => this.#onTask(owner))
    this.records = new Records(this.schedule, this.truth)
    this.database = new Database(() => this.schedule.now, flaws)
    this.carrier = new CarrierOffice(this.chance)
    this.#time = this.chance.pick(BEGINNINGS)
  }

  /** The ledger's time, UTC milliseconds. */
  get time(): number {
    return this.#time + this.schedule.now
  }

  /** Sets the ledger's time forward, or back where it is below 0. */
  jump(ms: number): void {
    this.#time += ms
  }

  /** Sets it by something: a moment, hours, to the end of a day, a month, or back. */
  jumpSomewhere(): void {
    const { chance } = this
    this.count("clock jumped")
    const toMidnight = DAY_MS - (this.time % DAY_MS)
    this.jump(
      chance.pick([
        chance.between(1, 5_000),
        3_600_000,
        toMidnight - chance.between(0, 3_000),
        toMidnight,
        toMidnight + 15 * 60_000,
        7 * DAY_MS,
        32 * DAY_MS,
        -chance.between(1, 600_000),
      ]),
    )
  }

  /** Counts something that went wrong. */
  count(what: string): void {
    this.happened.set(what, (this.happened.get(what) ?? 0) + 1)
  }

  /** Whom each task is told of before it is run. */
  onTask(told: (owner: Owner) => void): void {
    this.#onTask = told
  }
}
