/** Everything that the processes of a run share, created from its seed. */
import { openMemoryEventStore } from "../../adapters/eventstore/memory.ts"
import type { MemoryEventStore } from "../../adapters/eventstore/memory.ts"
import type {
  Carrier,
  CarrierAnswer,
  CarrierTextStatus,
  OutgoingText,
} from "../../adapters/providers/carrier/port.ts"
import { NO_INCOMING_TEXTS } from "../../adapters/providers/carrier/port.ts"
import {
  ProviderOutcomeUnknown,
  ProviderUnavailable,
} from "../../adapters/providers/provider-errors.ts"
import type { DatabaseFlaws } from "./database.ts"
import { SimulatedDatabase } from "./database.ts"
import { RunRecords, StoreTimeline } from "./records.ts"
import type { TaskOwner } from "./schedule.ts"
import { SeededRandom, Schedule } from "./schedule.ts"
import type { SharedStoreState } from "./store.ts"
import type { SimulatedNetwork, FaultRates } from "./wire.ts"
import { callRemote, NO_FAULTS } from "./wire.ts"

/** The carrier's answers to the texts it received. */
class SimulatedCarrier {
  readonly #answers = new Map<string, CarrierAnswer>()
  readonly #chance: SeededRandom
  /** Whether the carrier is reliable; otherwise it is sometimes unavailable or silent. */
  isCalm = false

  constructor(chance: SeededRandom) {
    this.#chance = chance
  }

  /** Whether the carrier accepted a text. */
  hasSent(textId: string): boolean {
    return this.#answers.get(textId)?.answer === "accepted"
  }

  /** Accepts a text; a repeated request is the same text. @throws ProviderUnavailable, ProviderOutcomeUnknown */
  send({ textId }: OutgoingText): CarrierAnswer {
    const chance = this.#chance
    if (!this.isCalm && chance.happens(0.1)) throw new ProviderUnavailable("fault: unavailable")
    if (!this.isCalm && chance.happens(0.1))
      throw new ProviderOutcomeUnknown("fault: the request was lost")
    const answer = this.#answers.get(textId) ?? this.#decide(textId)
    this.#answers.set(textId, answer)
    if (!this.isCalm && chance.happens(0.1)) throw new ProviderOutcomeUnknown("fault: no answer")
    return answer
  }

  #decide(textId: string): CarrierAnswer {
    return this.#chance.happens(0.15)
      ? { answer: "rejected", errorCode: "no_such_number" }
      : { answer: "accepted", carrierId: `carrier-${textId}` }
  }

  /** Returns the status of a text. @throws ProviderUnavailable, ProviderOutcomeUnknown */
  status(textId: string): CarrierTextStatus {
    if (!this.isCalm && this.#chance.happens(0.2))
      throw new ProviderOutcomeUnknown("fault: no answer")
    return this.#answers.get(textId) ?? { answer: "unknown" }
  }
}

/** The carrier as a process reaches it. */
export function carrierFor(
  carrier: SimulatedCarrier,
  wire: SimulatedNetwork,
  owner: TaskOwner,
): Carrier {
  return {
    isSimulator: true,
    isIdempotent: true,
    hasKeywordReplies: false,
    notReceivedAfterMs: 600_000,
    ...NO_INCOMING_TEXTS,
    send: (text) => callRemote(wire, owner, () => carrier.send(text)),
    checkTextStatus: ({ textId }) => callRemote(wire, owner, () => carrier.status(textId)),
    setKeywordReplies: async () => undefined,
    eraseCompany: async () => undefined,
    searchNumbers: async () => [],
    buyNumber: async () => ({ answer: "taken" }),
    checkOrderStatus: async () => ({ answer: "unknown" }),
    releaseNumber: async () => undefined,
  }
}

const DAY_MS = 86_400_000

/** The instants at which runs begin: many just before the end of a day, week, month or year. */
const START_TIMES = [
  Date.UTC(2026, 10, 21, 12),
  Date.UTC(2026, 10, 21, 23, 59, 40),
  Date.UTC(2026, 10, 22, 23, 59, 30),
  Date.UTC(2026, 10, 30, 23, 59, 45),
  Date.UTC(2026, 11, 31, 23, 59, 35),
]

/** The world of a run. */
export class SimulatedWorld implements SharedStoreState {
  readonly chance: SeededRandom
  readonly schedule: Schedule
  readonly store: MemoryEventStore = openMemoryEventStore()
  readonly timeline = new StoreTimeline()
  readonly doomedOwners = new Set<TaskOwner>()
  readonly records: RunRecords
  readonly database: SimulatedDatabase
  readonly carrier: SimulatedCarrier
  faults: FaultRates = NO_FAULTS
  readonly occurrences = new Map<string, number>()
  /** The ledger's time at the beginning, plus all clock jumps. */
  #time: number
  #onTask: (owner: TaskOwner) => void = () => undefined

  constructor(seed: number, flaws: DatabaseFlaws) {
    this.chance = new SeededRandom(seed)
    this.schedule = new Schedule(this.chance, (owner) => this.#onTask(owner))
    this.records = new RunRecords(this.schedule, this.timeline)
    this.database = new SimulatedDatabase(() => this.schedule.now, flaws)
    this.carrier = new SimulatedCarrier(this.chance)
    this.#time = this.chance.pick(START_TIMES)
  }

  /** The ledger's time in UTC milliseconds. */
  get time(): number {
    return this.#time + this.schedule.now
  }

  /** Moves the ledger's time by milliseconds; negative values move it back. */
  jumpClock(ms: number): void {
    this.#time += ms
  }

  /** Moves the clock by a random amount: a moment, hours, to midnight, a week, a month, or back. */
  jumpClockAtRandom(): void {
    const { chance } = this
    this.count("clock jumped")
    const toMidnight = DAY_MS - (this.time % DAY_MS)
    this.jumpClock(
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

  count(what: string): void {
    this.occurrences.set(what, (this.occurrences.get(what) ?? 0) + 1)
  }

  /** Sets the function that receives the owner of each task before the task runs. */
  onTask(listener: (owner: TaskOwner) => void): void {
    this.#onTask = listener
  }
}
