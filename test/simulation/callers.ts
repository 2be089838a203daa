/** Callers: they ask for one thing after another, and retry what they do not know by the same ids. */
import { isConnectionFault } from "../../adapters/postgres/port.ts"
import type { ChargeErrand, Errand, TextErrand } from "./requests.ts"
import { drawErrand, arrange, change, charge, giveBack, look, serve, text } from "./requests.ts"
import type { Fleet } from "./fleet.ts"
import type { Process } from "./process.ts"
import { WORLD } from "./schedule.ts"
import type { World } from "./world.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"

/** What passes: who asks again may be answered. */
const PASSING = new Set([
  "Again",
  "ClaimLost",
  "ClockUnsure",
  "DeadlinePassed",
  "OutcomeUnknown",
  "Overloaded",
  "Refused",
  "Unavailable",
  "Unheard",
])

/** How often many callers come at once, and wait for nothing. */
const RUSHES = 0.3

/** How often somebody asks for a text once, and never again. */
const GIVES_UP = 0.25

/** A charge that was asked for, and what its caller was told at the end. */
export interface AskedCharge {
  readonly errand: ChargeErrand
  answer: "done" | "refused" | null
}

/** A text that was asked for, and the ids that its caller was told, one after the other. */
export interface AskedText {
  readonly errand: TextErrand
  readonly messageIds: string[]
}

/** Everybody who asks for something in a run. */
export class Callers {
  readonly charges: AskedCharge[] = []
  readonly texts: AskedText[] = []
  /** The errand that each request was made for, by the request's id. */
  readonly errandOf = new Map<string, string>()
  /** What went wrong that nothing in a run may cause. */
  readonly faults: unknown[] = []
  readonly #world: World
  readonly #fleet: Fleet
  readonly #companies: readonly CompanyId[]

  constructor(world: World, fleet: Fleet, companies: readonly CompanyId[]) {
    this.#world = world
    this.#fleet = fleet
    this.#companies = companies
  }

  /** Everybody, until each has done everything they wanted. */
  async run(): Promise<void> {
    const { schedule, chance } = this.#world
    const isRush = chance.happens(RUSHES)
    const [count, errands] = isRush
      ? [chance.between(10, 14), chance.between(2, 4)]
      : [chance.between(2, 8), chance.between(3, 10)]
    const idles = isRush ? 0 : chance.pick([0.1, 0.5])
    const one = async (caller: number): Promise<void> => {
      for (let i = 0; i < errands; i += 1) {
        // Some come all at once, some after a while.
        if (chance.happens(idles)) await schedule.pause(WORLD, chance.between(0, 1_500))
        const errand = drawErrand(chance, this.#companies, `${caller}.${i}`)
        try {
          await this.#go(errand)
        } catch (error) {
          this.faults.push(error)
        }
      }
    }
    await Promise.all(Array.from({ length: count }, (_, caller) => one(caller)))
  }

  async #go(errand: Errand): Promise<void> {
    const { companyId } = errand
    switch (errand.does) {
      case "charge":
        return this.#charge(errand)
      case "text":
        return this.#text(errand)
      case "calls":
        await Promise.all(
          Array.from({ length: errand.count }, () =>
            this.#once(({ ports }) => serve(ports, companyId, errand.caller)),
          ),
        )
        return undefined
      case "pour":
        return this.#pour(companyId, errand.hands, errand.times)
      case "look":
        return this.#once(({ ports }) => look(ports, companyId, errand.isLatest))
      case "arrange":
        await this.#insist(({ ports }) => arrange(ports, companyId, errand.command))
        return undefined
      case "key":
        await this.#insist(({ ports }) => change(ports, companyId, errand.command))
        return undefined
      case "arrange once":
        await this.#once(({ ports }) => arrange(ports, companyId, errand.command))
        return undefined
      case "give back": {
        const made = this.charges.filter(({ answer }) => answer === "done")
        const found = made[errand.place % Math.max(1, made.length)]
        if (found === undefined) return undefined
        const { companyId: owner, chargeId } = found.errand
        await this.#insist(({ ports }) => giveBack(ports, owner, chargeId))
      }
    }
  }

  async #charge(errand: ChargeErrand): Promise<void> {
    const asked: AskedCharge = { errand, answer: null }
    this.charges.push(asked)
    const deadlineMs = this.#world.chance.pick([200, 1_500, 8_000])
    // After a no it is sent once more: it is decided afresh.
    for (let times = 0; times < 2 && asked.answer !== "done"; times += 1) {
      asked.answer = await this.#insist(({ ports }) => charge(ports, errand, deadlineMs))
    }
  }

  async #text(errand: TextErrand): Promise<void> {
    const asked: AskedText = { errand, messageIds: [] }
    this.texts.push(asked)
    const send = ({ ports }: Process) => text(ports, errand, this.#request(errand))
    // Some never ask again, whatever they heard: what they began must end without them.
    if (this.#world.chance.happens(GIVES_UP)) return this.#once(send)
    // Now and then what was answered is asked for again.
    for (let times = this.#world.chance.between(1, 2); times > 0; times -= 1) {
      const sent = await this.#insist(send)
      if (sent === "refused") return
      asked.messageIds.push(sent.messageId)
    }
  }

  async #pour(companyId: CompanyId, hands: number, times: number): Promise<void> {
    const drop = { type: "AddFunds" as const, amountMicros: 1, reference: null }
    const hand = async (): Promise<void> => {
      for (let i = 0; i < times; i += 1) {
        await this.#once(({ ports }) => arrange(ports, companyId, drop))
      }
    }
    await Promise.all(Array.from({ length: hands }, hand))
  }

  /** A name for a request, and what it is for. */
  #request({ name }: TextErrand): string {
    const requestId = `req_${this.errandOf.size + 1}`
    this.errandOf.set(requestId, name)
    return requestId
  }

  /** Asks until somebody answers. */
  async #insist<T>(act: (process: Process) => Promise<T>): Promise<T> {
    const { schedule, chance } = this.#world
    for (let waitMs = 50; ; waitMs = Math.min(2 * waitMs, 2_000)) {
      try {
        return await this.#fleet.ask(act)
      } catch (error) {
        if (!isPassing(error)) throw error
      }
      await schedule.pause(WORLD, chance.between(1, waitMs))
    }
  }

  /** Asks once, and leaves it at that. */
  async #once(act: (process: Process) => Promise<unknown>): Promise<void> {
    try {
      await this.#fleet.ask(act)
    } catch (error) {
      if (!isPassing(error)) throw error
    }
  }
}

function isPassing(error: unknown): boolean {
  return error instanceof Error && (PASSING.has(error.name) || isConnectionFault(error))
}
