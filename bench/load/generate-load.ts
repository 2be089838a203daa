/** Callers that call for a time, each with its next call after the last answer. */
import { setTimeout as pause } from "node:timers/promises"
import type { Socket } from "node:net"
import type { HttpResponse } from "../http/http-exchange.ts"
import { connectTo, openHttpExchange } from "../http/http-exchange.ts"
import type { LoadCall, CallGenerator } from "./call-generator.ts"
import { responseErrorCode } from "./call-generator.ts"
import { Latencies } from "./latencies.ts"
import type { CallKind, CallMix } from "./call-mix.ts"
import { CALL_KINDS, openCallSchedule } from "./call-mix.ts"

const REPORT_INTERVAL_MS = 1_000
const RETRY_MS = 200
/** A call with an unknown outcome is repeated for this long, also after the end of the load. */
const ANSWER_TIMEOUT_MS = 60_000

export interface CallKindFigures {
  /** Latencies of executed calls; refusals by rate limits are too fast to count. */
  readonly latencies: Latencies
  /** Number of answers by status, with the code of refusals. */
  readonly statuses: Record<string, number>
}

export interface LoadFigures {
  readonly kinds: Readonly<Record<CallKind, CallKindFigures>>
  /** Time until the last answer, milliseconds. */
  readonly tookMs: number
  /** Number of repeated calls, because a connection ended or the server answered 503. */
  readonly repeated: number
  /** Number of calls that rate limits rejected. */
  readonly turnedAway: number
  /** Faults with their number; empty if there were none. */
  readonly wrong: ReadonlyMap<string, number>
}

export interface LoadPlan {
  readonly host: string
  readonly port: number
  readonly connections: number
  readonly forMs: number
  readonly mix: CallMix
  /** The generators of the companies; each connection has one company's, as a real caller has. */
  readonly calls: readonly CallGenerator[]
  /** Receives a progress text once a second. */
  readonly report: (message: string) => void
  readonly signal: AbortSignal
}

/** Calls until the time is over or the signal is aborted, then waits for pending calls. */
export async function generateLoad(calling: LoadPlan): Promise<LoadFigures> {
  const { connections, forMs, report, signal } = calling
  const load = new LoadRun(calling)
  const begun = performance.now()
  const isOver = () => signal.aborted || performance.now() - begun >= forMs
  let seen = performance.now()
  const look = setInterval(() => {
    const now = performance.now()
    const left = Math.max(0, Math.ceil((forMs - (now - begun)) / 1_000))
    report(load.look(now - seen, left))
    seen = now
  }, REPORT_INTERVAL_MS)
  try {
    await Promise.all(Array.from({ length: connections }, (_, own) => load.caller(own, isOver)))
  } finally {
    clearInterval(look)
  }
  return load.figures(performance.now() - begun)
}

class LoadRun {
  readonly #calling: LoadPlan
  readonly #turn: () => CallKind
  readonly #kinds: Record<CallKind, CallKindFigures>
  readonly #wrong = new Map<string, number>()
  #recent = new Latencies()
  #repeated = 0
  #turnedAway = 0

  constructor(calling: LoadPlan) {
    this.#calling = calling
    this.#turn = openCallSchedule(calling.mix)
    const figures = CALL_KINDS.map((kind) => [kind, { latencies: new Latencies(), statuses: {} }])
    this.#kinds = Object.fromEntries(figures) as Record<CallKind, CallKindFigures>
  }

  /** One caller with its own connection, which is reopened when it ends. */
  async caller(own: number, isOver: () => boolean): Promise<void> {
    const line = new CallerConnection(this.#calling)
    const { calls } = this.#calling
    const ofOne = calls[own % calls.length] as CallGenerator
    while (!isOver()) await this.#make(line, ofOne.next(this.#turn()))
    line.close()
  }

  /** Describes the progress since the last call. */
  look(tookMs: number, leftSeconds: number): string {
    const recent = this.#recent
    this.#recent = new Latencies()
    const perSecond = Math.round((recent.count * 1_000) / tookMs)
    const [half, most] = [recent.quantile(0.5), recent.quantile(0.99)].map((ms) => ms.toFixed(1))
    return `${perSecond} answers a second, p50 ${half} ms, p99 ${most} ms, ${leftSeconds} s left`
  }

  figures(tookMs: number): LoadFigures {
    const [repeated, turnedAway] = [this.#repeated, this.#turnedAway]
    return { kinds: this.#kinds, tookMs, repeated, turnedAway, wrong: this.#wrong }
  }

  async #make(line: CallerConnection, call: LoadCall): Promise<void> {
    const begun = performance.now()
    for (;;) {
      const asked = performance.now()
      const answer = await line.ask(call.request)
      if (answer !== null) this.#count(call, answer, performance.now() - asked)
      if (answer !== null && answer.status !== 503) return
      if (performance.now() - begun > ANSWER_TIMEOUT_MS) {
        this.#note("a call was never answered; its outcome is unknown")
        return
      }
      this.#repeated += 1
      await pause(RETRY_MS)
    }
  }

  #count(call: LoadCall, answer: HttpResponse, tookMs: number): void {
    const { latencies, statuses } = this.#kinds[call.kind]
    const code = responseErrorCode(answer)
    const status = code === null ? String(answer.status) : `${answer.status} ${code}`
    statuses[status] = (statuses[status] ?? 0) + 1
    const isTurnedAway = answer.status === 503 || code === "rate_limited"
    if (code === "rate_limited") this.#turnedAway += 1
    if (!isTurnedAway) {
      latencies.add(tookMs)
      this.#recent.add(tookMs)
    }
    const wrong = call.validate(answer)
    if (wrong !== null) this.#note(`${call.kind}: ${wrong}`)
  }

  #note(wrong: string): void {
    this.#wrong.set(wrong, (this.#wrong.get(wrong) ?? 0) + 1)
  }
}

/** A connection that is opened on demand. */
class CallerConnection {
  readonly #to: Pick<LoadPlan, "host" | "port">
  #socket: Socket | null = null
  #exchange: ReturnType<typeof openHttpExchange> | null = null

  constructor(to: Pick<LoadPlan, "host" | "port">) {
    this.#to = to
  }

  /** Sends a request; null if the connection could not be opened or ended without an answer. */
  async ask(request: string): Promise<HttpResponse | null> {
    try {
      if (this.#exchange === null) {
        this.#socket = await connectTo(this.#to.host, this.#to.port)
        this.#exchange = openHttpExchange(this.#socket)
      }
      const answer = await this.#exchange(request)
      if (/\r\nconnection: close/i.test(answer.head)) this.close()
      return answer
    } catch {
      // The server is down or restarts: the same request goes over another connection.
      this.close()
      return null
    }
  }

  close(): void {
    this.#socket?.destroy()
    this.#socket = null
    this.#exchange = null
  }
}
