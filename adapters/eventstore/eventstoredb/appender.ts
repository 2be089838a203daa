import type { AppendResult, ProposedEvent } from "../port.ts"
import { Unavailable, UnknownOutcome, AccessDenied, NO_STREAM } from "../port.ts"
import type { AppendProposal } from "../create-event-store.ts"
import type { EventStoreDbConnection } from "./connection.ts"
import type { EventStoreDbSession } from "./session.ts"
import { MAX_REDIRECTS, NotLeader, appendErrorFromStatus, storeErrorFromGrpc } from "./session.ts"
import { randomUUID } from "node:crypto"
import shared from "@eventstore/db-client/generated/shared_pb.js"
import type { UUID } from "@eventstore/db-client/generated/shared_pb.js"
import streams from "@eventstore/db-client/generated/streams_pb.js"
import type { BatchAppendReq, BatchAppendResp } from "@eventstore/db-client/generated/streams_pb.js"
import type { ClusterNode } from "./cluster-node.ts"

/** So long after an append that failed, with none that was stored since, appends are taken to fail. */
const FAILURE_MEMORY_MS = 5_000

/** With this many appends under way, or so many bytes of them, further ones are refused. */
const MAX_PENDING_APPENDS = 10_000
const MAX_PENDING_APPEND_BYTES = 64 * 1024 * 1024

/**
 * Appends over one line at a time, any number at once; the server gathers what comes together into
 * one flush to its disk. Each append has a timer of our own: a deadline of gRPC's lets a server that
 * is silent keep its callers for the 20 seconds of two keep-alives.
 *
 * @throws what the port's `append` throws: WrongRevision, TooLarge, Unavailable, AccessDenied,
 * UnknownOutcome, RangeError
 */
export class EventStoreDbAppender {
  readonly #connection: EventStoreDbConnection
  readonly #timeoutMs: number
  readonly #pending = new Set<Promise<AppendResult>>()
  #pendingBytes = 0
  #newestPipeline: OpeningPipeline | null = null
  /** The last append that failed for the server, unless one was stored since. */
  #lastFailure: { readonly at: number; readonly cause: Error } | null = null

  /** `timeoutMs` bounds each append from the call to its answer. */
  constructor(connection: EventStoreDbConnection, timeoutMs: number) {
    this.#connection = connection
    this.#timeoutMs = timeoutMs
  }

  /** Appends `bytes` of events that were checked. Errors are those of the port's `append`. */
  async append(proposal: AppendProposal, bytes: number): Promise<AppendResult> {
    const isFull = this.#pendingBytes + bytes > MAX_PENDING_APPEND_BYTES
    if (this.#pending.size >= MAX_PENDING_APPENDS || isFull) {
      throw new Unavailable("the event store is overloaded: too many appends are under way")
    }
    const appended = this.#appendWithRetries(proposal)
    this.#pending.add(appended)
    this.#pendingBytes += bytes
    try {
      return await appended
    } finally {
      this.#pending.delete(appended)
      this.#pendingBytes -= bytes
    }
  }

  /** Whether appends fail just now, whatever else is answered. @throws Unavailable where they do */
  requireAppending(): void {
    if (this.#lastFailure === null || performance.now() - this.#lastFailure.at > FAILURE_MEMORY_MS)
      return
    throw new Unavailable("the event store does not take appends", {
      cause: this.#lastFailure.cause,
    })
  }

  async #appendWithRetries(proposal: AppendProposal): Promise<AppendResult> {
    const until = performance.now() + this.#timeoutMs
    for (let tries = 1; ; tries += 1) {
      try {
        const appended = await this.#appendOnce(proposal, until - performance.now())
        this.#lastFailure = null
        return appended
      } catch (error) {
        const isOver = performance.now() >= until || tries > MAX_REDIRECTS
        if (error instanceof NotLeader && !isOver) continue
        const isOfServer = error instanceof Unavailable || error instanceof UnknownOutcome
        // Only a stored append shows that appends are stored: a leader that lost its followers refuses a
        // wrong revision still.
        if (isOfServer) this.#lastFailure = { at: performance.now(), cause: error }
        throw error
      }
    }
  }

  async #appendOnce(proposal: AppendProposal, withinMs: number): Promise<AppendResult> {
    const { promise, resolve, reject } = Promise.withResolvers<AppendResult>()
    const append: PendingAppend = { ...proposal, sentOn: null, resolve, reject }
    const opened = this.#openPipeline()
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
    await Promise.allSettled(this.#pending)
  }

  /** The line for new appends. @throws Unavailable, AccessDenied */
  #openPipeline(): Promise<AppendPipeline> {
    if (this.#newestPipeline?.pipeline === null || this.#newestPipeline?.pipeline.isOpen === true)
      return this.#newestPipeline.opened
    const opening: OpeningPipeline = {
      opened: AppendPipeline.open(this.#connection.session),
      pipeline: null,
    }
    this.#newestPipeline = opening
    opening.opened.then(
      (line) => {
        opening.pipeline = line
      },
      () => {
        // Those who waited were told; who comes next tries again.
        if (this.#newestPipeline === opening) this.#newestPipeline = null
      },
    )
    return opening.opened
  }

  #expire(append: PendingAppend): void {
    if (append.sentOn !== null) append.sentOn.abandon(append)
    else append.reject(new Unavailable(`not sent to the event store within ${this.#timeoutMs} ms`))
  }
}

/** A line, from the first append that waits for it. */
interface OpeningPipeline {
  readonly opened: Promise<AppendPipeline>
  /** Null as long as it is being opened. */
  pipeline: AppendPipeline | null
}

/** An append on its way, and who waits for it. */
interface PendingAppend extends AppendProposal {
  /** The line it was sent on; null as long as it surely is not stored. */
  sentOn: AppendPipeline | null
  readonly resolve: (appended: AppendResult) => void
  readonly reject: (error: Error) => void
}

/** As much of the call as a line uses. */
interface BatchAppendStream {
  readonly write: (request: BatchAppendReq) => boolean
  readonly cancel: () => void
}

/**
 * One call on which appends go to the server and its answers come back, in any order, each with the
 * name that its append was given. Appends reach the server in the order in which they are sent.
 */
class AppendPipeline {
  readonly #session: EventStoreDbSession
  readonly #pending = new Map<string, PendingAppend>()
  #call: BatchAppendStream | null = null
  #node: ClusterNode | null = null
  #hasFailed = false

  private constructor(session: EventStoreDbSession) {
    this.#session = session
  }

  /**
   * Opens a line. The server has answered once before anything can be sent on it: what is sent later
   * and gets no answer may have been stored.
   *
   * @throws Unavailable, AccessDenied
   */
  static async open(session: EventStoreDbSession): Promise<AppendPipeline> {
    const line = new AppendPipeline(session)
    const { call, node } = await session.call((grpc, ...parameters) => {
      const begun = grpc.batchAppend(...parameters)
      begun.on("data", (answer: BatchAppendResp) => line.#settle(answer))
      begun.on("error", (cause: Error) => line.#failAll(cause))
      begun.on("end", () => line.#failAll(new Error("the event store ended the call")))
      return begun
    })
    line.#call = call
    line.#node = node
    session.retired.addEventListener("abort", () => line.#endWhenIdle())
    return line
  }

  /** Whether new appends may be sent. */
  get isOpen(): boolean {
    return !this.#hasFailed && !this.#session.retired.aborted
  }

  /** Sends an append and settles it when its answer comes, or when the line breaks. */
  send(append: PendingAppend): void {
    if (this.#hasFailed || this.#call === null) {
      append.reject(new Unavailable("the event store was lost before the append was sent"))
      return
    }
    const name = randomUUID()
    this.#pending.set(name, append)
    append.sentOn = this
    this.#call.write(appendRequest(name, append))
  }

  /**
   * The answer to an append is overdue. Those to others are still waited for, each for its own time;
   * new appends go over a new connection.
   */
  abandon(append: PendingAppend): void {
    for (const [name, other] of this.#pending) if (other === append) this.#pending.delete(name)
    append.reject(new UnknownOutcome("the event store did not answer an append in time"))
    this.#session.retire()
    this.#endWhenIdle()
  }

  #settle(answer: BatchAppendResp): void {
    const name = uuidText(answer.getCorrelationId())
    const append = this.#pending.get(name)
    // Who was given up is told nothing more.
    if (append === undefined) return
    this.#pending.delete(name)
    const outcome = parseAppendOutcome(answer, append)
    if (outcome instanceof Error) append.reject(outcome)
    else {
      const { stream, events } = append
      const stored = { stream, id: events.at(-1)?.id ?? "", ...outcome }
      this.#node?.noteSeen(outcome.position, [stored])
      append.resolve(outcome)
    }
    this.#endWhenIdle()
  }

  #failAll(cause: Error): void {
    this.#hasFailed = true
    const refused = storeErrorFromGrpc(cause)
    const unknown = new UnknownOutcome("the connection broke after an append was sent", { cause })
    // Credentials are looked at before anything else: what came with wrong ones was not stored. A node
    // that does not lead tries nothing; of several appends it does not say which ones it still led for.
    const isUntried = refused instanceof NotLeader && this.#pending.size === 1
    const outcome = refused instanceof AccessDenied || isUntried ? refused : unknown
    for (const append of this.#pending.values()) append.reject(outcome)
    this.#pending.clear()
  }

  /** A line that takes no more appends ends with its last answer, so that the client can go. */
  #endWhenIdle(): void {
    if (this.#session.retired.aborted && this.#pending.size === 0) this.#call?.cancel()
  }
}

function parseAppendOutcome(answer: BatchAppendResp, append: PendingAppend): AppendResult | Error {
  const { stream, expectedRevision } = append
  const refused = answer.getError()
  if (refused !== undefined) return appendErrorFromStatus(refused, stream, expectedRevision)
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
function uuidText(id: UUID | undefined): string {
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
  options.setStreamIdentifier(new shared.StreamIdentifier().setStreamName(utf8Bytes(stream)))
  if (expectedRevision === NO_STREAM) options.setNoStream(new shared.Empty())
  else options.setStreamPosition(String(expectedRevision))
  return new streams.BatchAppendReq()
    .setCorrelationId(toUuidMessage(name))
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
    .setId(toUuidMessage(event.id))
    .setData(utf8Bytes(event.data))
    .setCustomMetadata(utf8Bytes(event.metadata))
}

function toUuidMessage(text: string): InstanceType<typeof shared.UUID> {
  return new shared.UUID().setString(text)
}

function utf8Bytes(text: string): Uint8Array {
  return Buffer.from(text, "utf8")
}
