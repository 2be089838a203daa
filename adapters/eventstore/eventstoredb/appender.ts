import { type Appended, Unavailable, UnknownOutcome } from "../port.ts"
import type { AppendProposal } from "../proposal.ts"
import { type Append, AppendLine } from "./append-line.ts"
import type { Connection } from "./connection.ts"
import { MOST_REDIRECTS, NotLeader } from "./failures.ts"

/** So long after an append that failed, with none that was stored since, appends are taken to fail. */
const FAILING_MS = 5_000

/** With this many appends under way, or so many bytes of them, further ones are refused. */
const MAX_UNDER_WAY = 10_000
const MAX_BYTES_UNDER_WAY = 64 * 1024 * 1024

/**
 * Appends over one line at a time, any number at once; the server gathers what comes together into
 * one flush to its disk. Each append has a timer of our own: a deadline of gRPC's lets a server that
 * is silent keep its callers for the 20 seconds of two keep-alives.
 *
 * @throws what the port's `append` throws: WrongRevision, TooLarge, Unavailable, AccessDenied,
 * UnknownOutcome, RangeError
 */
export class Appender {
  readonly #connection: Connection
  readonly #timeoutMs: number
  readonly #underWay = new Set<Promise<Appended>>()
  #bytesUnderWay = 0
  #newest: Opening | null = null
  /** The last append that failed for the server, unless one was stored since. */
  #failed: { readonly at: number; readonly cause: Error } | null = null

  /** `timeoutMs` bounds each append from the call to its answer. */
  constructor(connection: Connection, timeoutMs: number) {
    this.#connection = connection
    this.#timeoutMs = timeoutMs
  }

  /** Appends `bytes` of events that were checked. Errors are those of the port's `append`. */
  async append(proposal: AppendProposal, bytes: number): Promise<Appended> {
    const isFull = this.#bytesUnderWay + bytes > MAX_BYTES_UNDER_WAY
    if (this.#underWay.size >= MAX_UNDER_WAY || isFull) {
      throw new Unavailable("the event store is overloaded: too many appends are under way")
    }
    const appended = this.#send(proposal)
    this.#underWay.add(appended)
    this.#bytesUnderWay += bytes
    try {
      return await appended
    } finally {
      this.#underWay.delete(appended)
      this.#bytesUnderWay -= bytes
    }
  }

  /** Whether appends fail just now, whatever else is answered. @throws Unavailable where they do */
  check(): void {
    if (this.#failed === null || performance.now() - this.#failed.at > FAILING_MS) return
    throw new Unavailable("the event store does not take appends", { cause: this.#failed.cause })
  }

  async #send(proposal: AppendProposal): Promise<Appended> {
    const until = performance.now() + this.#timeoutMs
    for (let tries = 1; ; tries += 1) {
      try {
        const appended = await this.#sendOnce(proposal, until - performance.now())
        this.#failed = null
        return appended
      } catch (error) {
        const isOver = performance.now() >= until || tries > MOST_REDIRECTS
        if (error instanceof NotLeader && !isOver) continue
        const isOfServer = error instanceof Unavailable || error instanceof UnknownOutcome
        // Only a stored append shows that appends are stored: a leader that lost its followers refuses a
        // wrong revision still.
        if (isOfServer) this.#failed = { at: performance.now(), cause: error }
        throw error
      }
    }
  }

  async #sendOnce(proposal: AppendProposal, withinMs: number): Promise<Appended> {
    const { promise, resolve, reject } = Promise.withResolvers<Appended>()
    const append: Append = { ...proposal, sentOn: null, resolve, reject }
    const opened = this.#line()
    let isExpired = false
    const timer = setTimeout(() => {
      isExpired = true
      this.#expire(append)
    }, withinMs)
    // All who wait for a line wait for the same promise: they are sent in the order of arrival.
    opened.then((line) => {
      if (!isExpired) line.send(append)
    }, reject)
    return promise.finally(() => clearTimeout(timer))
  }

  /** Waits for the answers to the appends that it has. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#underWay)
  }

  /** The line for new appends. @throws Unavailable, AccessDenied */
  #line(): Promise<AppendLine> {
    if (this.#newest?.line === null || this.#newest?.line.isOpen === true)
      return this.#newest.opened
    const opening: Opening = { opened: AppendLine.open(this.#connection.session), line: null }
    this.#newest = opening
    opening.opened.then(
      (line) => {
        opening.line = line
      },
      () => {
        // Those who waited were told; who comes next tries again.
        if (this.#newest === opening) this.#newest = null
      },
    )
    return opening.opened
  }

  #expire(append: Append): void {
    if (append.sentOn !== null) append.sentOn.giveUp(append)
    else append.reject(new Unavailable(`not sent to the event store within ${this.#timeoutMs} ms`))
  }
}

/** A line, from the first append that waits for it. */
interface Opening {
  readonly opened: Promise<AppendLine>
  /** Null as long as it is being opened. */
  line: AppendLine | null
}
