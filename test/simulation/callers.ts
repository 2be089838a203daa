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
    const isBurst = chance.happens(CONCURRENT_PART)
    const [count, requestsPerCaller] = isBurst
      ? [chance.between(10, 14), chance.between(2, 4)]
      : [chance.between(2, 8), chance.between(3, 10)]
    const pauseRate = isBurst ? 0 : chance.pick([0.1, 0.5])
    const one = async (caller: number): Promise<void> => {
      for (let i = 0; i < requestsPerCaller; i += 1) {
        // Some requests follow immediately, others after a pause.
        if (chance.happens(pauseRate))
          await schedule.pause(ENVIRONMENT_OWNER, chance.between(0, 1_500))
        const request = drawRequest(chance, this.#companies, `${caller}.${i}`)
        try {
          await this.#send(request)
        } catch (error) {
          this.faults.push(error)
        }
      }
    }
    await Promise.all(Array.from({ length: count }, (_, caller) => one(caller)))
  }

  async #send(request: SimulatedRequest): Promise<void> {
    const { companyId } = request
    switch (request.does) {
      case "charge":
        return this.#charge(request)
      case "text":
        return this.#text(request)
      case "calls":
        await Promise.all(
          Array.from({ length: request.count }, () =>
            this.#once(({ ports }) => requestApiCall(ports, companyId, request.caller)),
          ),
        )
        return undefined
      case "add concurrently":
        return this.#addConcurrently(companyId, request.callers, request.times)
      case "read":
        return this.#once(({ ports }) => readAccountOf(ports, companyId, request.isLatest))
      case "change":
        await this.#retry(({ ports }) => requestLedgerChange(ports, companyId, request.command))
        return undefined
      case "key":
        await this.#retry(({ ports }) => requestAccessChange(ports, companyId, request.command))
        return undefined
      case "change once":
        await this.#once(({ ports }) => requestLedgerChange(ports, companyId, request.command))
        return undefined
      case "refund": {
        const made = this.charges.filter(({ answer }) => answer === "done")
        const found = made[request.index % Math.max(1, made.length)]
        if (found === undefined) return undefined
        const { companyId: owner, chargeId } = found.request
        await this.#retry(({ ports }) => requestRefund(ports, owner, chargeId))
      }
    }
  }

  async #charge(request: SimulatedCharge): Promise<void> {
    const requested: RequestedCharge = { request, answer: null }
    this.charges.push(requested)
    const deadlineMs = this.#world.chance.pick([200, 1_500, 8_000])
    // A rejected charge is requested a second time, because it is decided again.
    for (let times = 0; times < 2 && requested.answer !== "done"; times += 1) {
      requested.answer = await this.#retry(({ ports }) => requestCharge(ports, request, deadlineMs))
    }
  }

  async #text(request: SimulatedText): Promise<void> {
    const requested: RequestedText = { request, messageIds: [] }
    this.texts.push(requested)
    const send = ({ ports }: SimulatedProcess) =>
      requestText(ports, request, this.#request(request))
    // Some callers never retry, so their work must finish without them.
    if (this.#world.chance.happens(GIVE_UP_PART)) return this.#once(send)
    // Sometimes a request is repeated after its response.
    for (let times = this.#world.chance.between(1, 2); times > 0; times -= 1) {
      const sent = await this.#retry(send)
      if (sent === "refused") return
      requested.messageIds.push(sent.messageId)
    }
  }

  async #addConcurrently(companyId: CompanyId, callers: number, times: number): Promise<void> {
    const deposit = { type: "AddFunds" as const, amountMicros: 1, reference: null }
    const caller = async (): Promise<void> => {
      for (let i = 0; i < times; i += 1) {
        await this.#once(({ ports }) => requestLedgerChange(ports, companyId, deposit))
      }
    }
    await Promise.all(Array.from({ length: callers }, caller))
  }

  #request({ name }: SimulatedText): string {
    const requestId = `req_${this.requestOf.size + 1}`
    this.requestOf.set(requestId, name)
    return requestId
  }

  /** Retries until a process responds. */
  async #retry<T>(act: (process: SimulatedProcess) => Promise<T>): Promise<T> {
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
