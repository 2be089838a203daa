/** Everything that the processes of a run share, made from its seed. */
import { openMemoryEventStore } from "../../adapters/eventstore/memory.ts"
import type { MemoryEventStore } from "../../adapters/eventstore/memory.ts"
import { CarrierOffice } from "./carrier.ts"
import { Chance } from "./chance.ts"
import type { DatabaseFlaws } from "./database.ts"
import { Database } from "./database.ts"
import type { Faults } from "./faults.ts"
import { CALM } from "./faults.ts"
import { Records } from "./records.ts"
import type { Owner } from "./schedule.ts"
import { Schedule } from "./schedule.ts"
import type { Shared } from "./shared.ts"
import { Truth } from "./truth.ts"

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
