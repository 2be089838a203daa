import type { Appended, ProposedEvent } from "../port.ts"
import { Unavailable, UnknownOutcome, AccessDenied, NO_STREAM } from "../port.ts"
import type { AppendProposal } from "../opened.ts"
import type { Connection } from "./connection.ts"
import type { Session } from "./session.ts"
import { MOST_REDIRECTS, NotLeader, appendRefusal, refusal } from "./session.ts"
import { randomUUID } from "node:crypto"
import shared from "@eventstore/db-client/generated/shared_pb.js"
import type { UUID } from "@eventstore/db-client/generated/shared_pb.js"
import streams from "@eventstore/db-client/generated/streams_pb.js"
import type { BatchAppendReq, BatchAppendResp } from "@eventstore/db-client/generated/streams_pb.js"
import type { Node } from "./node.ts"

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

/** An append on its way, and who waits for it. */
interface Append extends AppendProposal {
  /** The line it was sent on; null as long as it surely is not stored. */
  sentOn: AppendLine | null
  readonly resolve: (appended: Appended) => void
  readonly reject: (error: Error) => void
}

/** As much of the call as a line uses. */
interface BatchAppendCall {
  readonly write: (request: BatchAppendReq) => boolean
  readonly cancel: () => void
}

/**
 * One call on which appends go to the server and its answers come back, in any order, each with the
 * name that its append was given. Appends reach the server in the order in which they are sent.
 */
class AppendLine {
  readonly #session: Session
  readonly #unanswered = new Map<string, Append>()
  #call: BatchAppendCall | null = null
  #node: Node | null = null
  #isBroken = false

  private constructor(session: Session) {
    this.#session = session
  }

  /**
   * Opens a line. The server has answered once before anything can be sent on it: what is sent later
   * and gets no answer may have been stored.
   *
   * @throws Unavailable, AccessDenied
   */
  static async open(session: Session): Promise<AppendLine> {
    const line = new AppendLine(session)
    const { call, node } = await session.call((grpc, ...parameters) => {
      const begun = grpc.batchAppend(...parameters)
      begun.on("data", (answer: BatchAppendResp) => line.#settle(answer))
      begun.on("error", (cause: Error) => line.#break(cause))
      begun.on("end", () => line.#break(new Error("the event store ended the call")))
      return begun
    })
    line.#call = call
    line.#node = node
    session.retired.addEventListener("abort", () => line.#endWhenIdle())
    return line
  }

  /** Whether new appends may be sent. */
  get isOpen(): boolean {
    return !this.#isBroken && !this.#session.retired.aborted
  }

  /** Sends an append and settles it when its answer comes, or when the line breaks. */
  send(append: Append): void {
    if (this.#isBroken || this.#call === null) {
      append.reject(new Unavailable("the event store was lost before the append was sent"))
      return
    }
    const name = randomUUID()
    this.#unanswered.set(name, append)
    append.sentOn = this
    this.#call.write(appendRequest(name, append))
  }

  /**
   * The answer to an append is overdue. Those to others are still waited for, each for its own time;
   * new appends go over a new connection.
   */
  giveUp(append: Append): void {
    for (const [name, other] of this.#unanswered)
      if (other === append) this.#unanswered.delete(name)
    append.reject(new UnknownOutcome("the event store did not answer an append in time"))
    this.#session.retire()
    this.#endWhenIdle()
  }

  #settle(answer: BatchAppendResp): void {
    const name = textOf(answer.getCorrelationId())
    const append = this.#unanswered.get(name)
    // Who was given up is told nothing more.
    if (append === undefined) return
    this.#unanswered.delete(name)
    const outcome = outcomeOf(answer, append)
    if (outcome instanceof Error) append.reject(outcome)
    else {
      const { stream, events } = append
      const stored = { stream, id: events.at(-1)?.id ?? "", ...outcome }
      this.#node?.saw(outcome.position, [stored])
      append.resolve(outcome)
    }
    this.#endWhenIdle()
  }

  #break(cause: Error): void {
    this.#isBroken = true
    const refused = refusal(cause)
    const unknown = new UnknownOutcome("the connection broke after an append was sent", { cause })
    // Credentials are looked at before anything else: what came with wrong ones was not stored. A node
    // that does not lead tries nothing; of several appends it does not say which ones it still led for.
    const isUntried = refused instanceof NotLeader && this.#unanswered.size === 1
    const outcome = refused instanceof AccessDenied || isUntried ? refused : unknown
    for (const append of this.#unanswered.values()) append.reject(outcome)
    this.#unanswered.clear()
  }

  /** A line that takes no more appends ends with its last answer, so that the client can go. */
  #endWhenIdle(): void {
    if (this.#session.retired.aborted && this.#unanswered.size === 0) this.#call?.cancel()
  }
}

function outcomeOf(answer: BatchAppendResp, append: Append): Appended | Error {
  const { stream, expectedRevision } = append
  const refused = answer.getError()
  if (refused !== undefined) return appendRefusal(refused, stream, expectedRevision)
  const success = answer.getSuccess()
  const position = success?.getPosition()
  if (success === undefined || position === undefined) {
    return new UnknownOutcome(`stream ${stream}: the event store did not say where it stored`)
  }
  return {
    revision: Number(success.getCurrentRevision()),
    position: {
      commit: BigInt(position.getCommitPosition()),
      prepare: BigInt(position.getPreparePosition()),
    },
  }
}

/** A UUID as text; the server writes it as two numbers where it timed out by itself. */
function textOf(id: UUID | undefined): string {
  const structured = id?.getStructured()
  if (structured === undefined) return id?.getString() ?? ""
  const half = (bits: string): string =>
    BigInt.asUintN(64, BigInt(bits)).toString(16).padStart(16, "0")
  const hex = half(structured.getMostSignificantBits()) + half(structured.getLeastSignificantBits())
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5")
}

/**
 * An append as the server takes it, under a name for its answer. No deadline goes along: it would be
 * an instant of this machine's clock, and the server has a time of its own.
 */
function appendRequest(
  name: string,
  { stream, events, expectedRevision }: AppendProposal,
): BatchAppendReq {
  const options = new streams.BatchAppendReq.Options()
  options.setStreamIdentifier(new shared.StreamIdentifier().setStreamName(bytesOf(stream)))
  if (expectedRevision === NO_STREAM) options.setNoStream(new shared.Empty())
  else options.setStreamPosition(String(expectedRevision))
  return new streams.BatchAppendReq()
    .setCorrelationId(uuid(name))
    .setOptions(options)
    .setProposedMessagesList(events.map(proposedMessage))
    .setIsFinal(true)
}

/**
 * The bytes are those of the text, whatever they are called. What begins like our facts is called
 * JSON, so that the store's own browser shows it; nothing depends on it.
 */
function proposedMessage(event: ProposedEvent): BatchAppendReq.ProposedMessage {
  const message = new streams.BatchAppendReq.ProposedMessage()
  const isJson = event.data.startsWith("{")
  message
    .getMetadataMap()
    .set("type", event.type)
    .set("content-type", isJson ? "application/json" : "application/octet-stream")
  return message
    .setId(uuid(event.id))
    .setData(bytesOf(event.data))
    .setCustomMetadata(bytesOf(event.metadata))
}

function uuid(text: string): InstanceType<typeof shared.UUID> {
  return new shared.UUID().setString(text)
}

function bytesOf(text: string): Uint8Array {
  return Buffer.from(text, "utf8")
}
