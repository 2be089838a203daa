/** Callers that send one request after another, and retry unknown outcomes with the same ids. */
import { isConnectionFault } from "../../adapters/postgres/port.ts"
import type { SimulatedCharge, SimulatedRequest, SimulatedText } from "./requests.ts"
import {
  drawRequest,
  requestLedgerChange,
  requestAccessChange,
  requestCharge,
  requestRefund,
  readAccountOf,
  requestApiCall,
  requestText,
} from "./requests.ts"
import type { ProcessFleet } from "./fleet.ts"
import type { SimulatedProcess } from "./process.ts"
import { ENVIRONMENT_OWNER } from "./schedule.ts"
import type { SimulatedWorld } from "./world.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"

/** Errors after which a retry may succeed. */
const TRANSIENT_ERRORS = new Set([
  "ConcurrentChange",
  "ClaimLost",
  "ClockUnsure",
  "DeadlinePassed",
  "OutcomeUnknown",
  "Overloaded",
  "RequestRejected",
  "Unavailable",
  "ResponseLost",
])

/** Share of runs in which many callers start concurrently and never pause. */
const CONCURRENT_PART = 0.3

/** Share of texts that are requested once and never retried. */
const GIVE_UP_PART = 0.25

/** A requested charge, and the last response to its caller. */
export interface RequestedCharge {
  readonly request: SimulatedCharge
  answer: "done" | "refused" | null
}

/** A requested text, and the message ids that its caller received, in order. */
export interface RequestedText {
  readonly request: SimulatedText
  readonly messageIds: string[]
}

/** All callers of a run. */
export class SimulatedCallers {
  readonly charges: RequestedCharge[] = []
  readonly texts: RequestedText[] = []
  /** The text that each request is for, by request id. */
  readonly requestOf = new Map<string, string>()
  /** Errors that no fault of a run explains. */
  readonly faults: unknown[] = []
  readonly #world: SimulatedWorld
  readonly #fleet: ProcessFleet
  readonly #companies: readonly CompanyId[]

  constructor(world: SimulatedWorld, fleet: ProcessFleet, companies: readonly CompanyId[]) {
    this.#world = world
    this.#fleet = fleet
    this.#companies = companies
  }

  /** Runs all callers until each has finished its requests. */
  async run(): Promise<void> {
    const { schedule, chance } = this.#world
    const isRush = chance.happens(CONCURRENT_PART)
    const [count, errands] = isRush
      ? [chance.between(10, 14), chance.between(2, 4)]
      : [chance.between(2, 8), chance.between(3, 10)]
    const idles = isRush ? 0 : chance.pick([0.1, 0.5])
    const one = async (caller: number): Promise<void> => {
      for (let i = 0; i < errands; i += 1) {
        // Some requests follow immediately, others after a pause.
        if (chance.happens(idles)) await schedule.pause(ENVIRONMENT_OWNER, chance.between(0, 1_500))
        const errand = drawRequest(chance, this.#companies, `${caller}.${i}`)
        try {
          await this.#go(errand)
        } catch (error) {
          this.faults.push(error)
        }
      }
    }
    await Promise.all(Array.from({ length: count }, (_, caller) => one(caller)))
  }

  async #go(errand: SimulatedRequest): Promise<void> {
    const { companyId } = errand
    switch (errand.does) {
      case "charge":
        return this.#charge(errand)
      case "text":
        return this.#text(errand)
      case "calls":
        await Promise.all(
          Array.from({ length: errand.count }, () =>
            this.#once(({ ports }) => requestApiCall(ports, companyId, errand.caller)),
          ),
        )
        return undefined
      case "pour":
        return this.#pour(companyId, errand.hands, errand.times)
      case "look":
        return this.#once(({ ports }) => readAccountOf(ports, companyId, errand.isLatest))
      case "arrange":
        await this.#insist(({ ports }) => requestLedgerChange(ports, companyId, errand.command))
        return undefined
      case "key":
        await this.#insist(({ ports }) => requestAccessChange(ports, companyId, errand.command))
        return undefined
      case "arrange once":
        await this.#once(({ ports }) => requestLedgerChange(ports, companyId, errand.command))
        return undefined
      case "give back": {
        const made = this.charges.filter(({ answer }) => answer === "done")
        const found = made[errand.place % Math.max(1, made.length)]
        if (found === undefined) return undefined
        const { companyId: owner, chargeId } = found.request
        await this.#insist(({ ports }) => requestRefund(ports, owner, chargeId))
      }
    }
  }

  async #charge(request: SimulatedCharge): Promise<void> {
    const asked: RequestedCharge = { request, answer: null }
    this.charges.push(asked)
    const deadlineMs = this.#world.chance.pick([200, 1_500, 8_000])
    // A rejected charge is requested a second time, because it is decided again.
    for (let times = 0; times < 2 && asked.answer !== "done"; times += 1) {
      asked.answer = await this.#insist(({ ports }) => requestCharge(ports, request, deadlineMs))
    }
  }

  async #text(request: SimulatedText): Promise<void> {
    const asked: RequestedText = { request, messageIds: [] }
    this.texts.push(asked)
    const send = ({ ports }: SimulatedProcess) =>
      requestText(ports, request, this.#request(request))
    // Some callers never retry, so their work must finish without them.
    if (this.#world.chance.happens(GIVE_UP_PART)) return this.#once(send)
    // Sometimes a request is repeated after its response.
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
        await this.#once(({ ports }) => requestLedgerChange(ports, companyId, drop))
      }
    }
    await Promise.all(Array.from({ length: hands }, hand))
  }

  /** Creates a request id and records the text that it is for. */
  #request({ name }: SimulatedText): string {
    const requestId = `req_${this.requestOf.size + 1}`
    this.requestOf.set(requestId, name)
    return requestId
  }

  /** Retries until a process responds. */
  async #insist<T>(act: (process: SimulatedProcess) => Promise<T>): Promise<T> {
    const { schedule, chance } = this.#world
    for (let waitMs = 50; ; waitMs = Math.min(2 * waitMs, 2_000)) {
      try {
        return await this.#fleet.sendRequest(act)
      } catch (error) {
        if (!isTransient(error)) throw error
      }
      await schedule.pause(ENVIRONMENT_OWNER, chance.between(1, waitMs))
    }
  }

  /** Sends a request once, without a retry. */
  async #once(act: (process: SimulatedProcess) => Promise<unknown>): Promise<void> {
    try {
      await this.#fleet.sendRequest(act)
    } catch (error) {
      if (!isTransient(error)) throw error
    }
  }
}

function isTransient(error: unknown): boolean {
  return error instanceof Error && (TRANSIENT_ERRORS.has(error.name) || isConnectionFault(error))
}
