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

/** How long after a failed append, without a stored one since, `ready` reports a failure. */
const FAILURE_MEMORY_MS = 5_000

/** Further appends are rejected with this many, or this many bytes, in progress. */
const MAX_PENDING_APPENDS = 10_000
const MAX_PENDING_APPEND_BYTES = 64 * 1024 * 1024

/**
 * Appends over one pipeline at a time, any number concurrently; the server combines concurrent
 * appends into one flush to its disk. Each append has a timer of our own: with a gRPC deadline, a
 * silent server would block callers for the 20 seconds of two keep-alives.
 *
 * @throws the errors of the port's `append`: WrongRevision, AppendTooLarge, Unavailable,
 * AccessDenied, UnknownOutcome, RangeError
 */
export class EventStoreDbAppender {
  readonly #connection: EventStoreDbConnection
  readonly #timeoutMs: number
  readonly #pending = new Set<Promise<AppendResult>>()
  #pendingBytes = 0
  #newestPipeline: OpeningPipeline | null = null
  /** The last append that failed because of the server, unless one was stored since. */
  #lastFailure: { readonly at: number; readonly cause: Error } | null = null

  constructor(connection: EventStoreDbConnection, timeoutMs: number) {
    this.#connection = connection
    this.#timeoutMs = timeoutMs
  }

  /** Appends `bytes` of events that were checked. Throws the errors of the port's `append`. */
  async append(proposal: AppendProposal, bytes: number): Promise<AppendResult> {
    const isFull = this.#pendingBytes + bytes > MAX_PENDING_APPEND_BYTES
    if (this.#pending.size >= MAX_PENDING_APPENDS || isFull) {
      throw new Unavailable(
        `The event store is overloaded: ${this.#pending.size} appends (${this.#pendingBytes} bytes) are in progress`,
      )
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

  /** Checks that recent appends did not fail. @throws Unavailable if they did */
  requireAppending(): void {
    if (this.#lastFailure === null || performance.now() - this.#lastFailure.at > FAILURE_MEMORY_MS)
      return
    throw new Unavailable("The event store does not take appends", {
      cause: this.#lastFailure.cause,
    })
  }

  async #appendWithRetries(proposal: AppendProposal): Promise<AppendResult> {
    const until = performance.now() + this.#timeoutMs
    for (let attempt = 1; ; attempt += 1) {
      try {
        const appended = await this.#appendOnce(proposal, until - performance.now())
        this.#lastFailure = null
        return appended
      } catch (error) {
        const hasNoRetry = performance.now() >= until || attempt > MAX_REDIRECTS
        if (error instanceof NotLeader && !hasNoRetry) continue
        const isServerFault = error instanceof Unavailable || error instanceof UnknownOutcome
        // Only a stored append proves that appends work: a leader that lost its followers still
        // rejects a wrong revision.
        if (isServerFault) this.#lastFailure = { at: performance.now(), cause: error }
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
    // All appends wait for the same promise, so they are sent in order of arrival.
    opened.then((pipeline) => {
      if (!isExpired) pipeline.send(append)
    }, reject)
    return promise.finally(() => clearTimeout(timer))
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.#pending)
  }

  /** The pipeline for new appends. @throws Unavailable, AccessDenied */
  #openPipeline(): Promise<AppendPipeline> {
    if (this.#newestPipeline?.pipeline === null || this.#newestPipeline?.pipeline.isOpen === true)
      return this.#newestPipeline.opened
    const opening: OpeningPipeline = {
      opened: AppendPipeline.open(this.#connection.session),
      pipeline: null,
    }
    this.#newestPipeline = opening
    opening.opened.then(
      (pipeline) => {
        opening.pipeline = pipeline
      },
      () => {
        // The waiting appends got the error; the next append tries again.
        if (this.#newestPipeline === opening) this.#newestPipeline = null
      },
    )
    return opening.opened
  }

  #expire(append: PendingAppend): void {
    if (append.sentOn !== null) append.sentOn.abandon(append)
    else
      append.reject(
        new Unavailable(`The append was not sent to the event store within ${this.#timeoutMs} ms`),
      )
  }
}

interface OpeningPipeline {
  readonly opened: Promise<AppendPipeline>
  pipeline: AppendPipeline | null
}

interface PendingAppend extends AppendProposal {
  /** The pipeline it was sent on; null while it is certainly not stored. */
  sentOn: AppendPipeline | null
  readonly resolve: (appended: AppendResult) => void
  readonly reject: (error: Error) => void
}

interface BatchAppendStream {
  readonly write: (request: BatchAppendReq) => boolean
  readonly cancel: () => void
}

/**
 * One bidirectional call for many appends. Answers arrive in any order and carry the correlation id
 * of their append; appends reach the server in the order in which they are sent.
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
   * Opens a pipeline. The server answers once before anything is sent: an append without an answer
   * may have been stored.
   *
   * @throws Unavailable, AccessDenied
   */
  static async open(session: EventStoreDbSession): Promise<AppendPipeline> {
    const pipeline = new AppendPipeline(session)
    const { call, node } = await session.call((grpc, ...parameters) => {
      const batchCall = grpc.batchAppend(...parameters)
      batchCall.on("data", (answer: BatchAppendResp) => pipeline.#settle(answer))
      batchCall.on("error", (cause: Error) => pipeline.#failAll(cause))
      batchCall.on("end", () => pipeline.#failAll(new Error("The event store ended the call")))
      return batchCall
    })
    pipeline.#call = call
    pipeline.#node = node
    session.retired.addEventListener("abort", () => pipeline.#endWhenIdle())
    return pipeline
  }

  get isOpen(): boolean {
    return !this.#hasFailed && !this.#session.retired.aborted
  }

  send(append: PendingAppend): void {
    if (this.#hasFailed || this.#call === null) {
      append.reject(
        new Unavailable("The connection to the event store broke before the append was sent"),
      )
      return
    }
    const correlationId = randomUUID()
    this.#pending.set(correlationId, append)
    append.sentOn = this
    this.#call.write(appendRequest(correlationId, append))
  }

  /**
   * Gives up on an append whose answer is overdue. Other appends still wait for their own time; new
   * appends use a new connection.
   */
  abandon(append: PendingAppend): void {
    for (const [correlationId, other] of this.#pending)
      if (other === append) this.#pending.delete(correlationId)
    append.reject(new UnknownOutcome("The event store did not answer an append in time"))
    this.#session.retire()
    this.#endWhenIdle()
  }

  #settle(answer: BatchAppendResp): void {
    const correlationId = uuidText(answer.getCorrelationId())
    const append = this.#pending.get(correlationId)
    // Its caller already got an unknown outcome.
    if (append === undefined) return
    this.#pending.delete(correlationId)
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
    const rejection = storeErrorFromGrpc(cause)
    const unknown = new UnknownOutcome(
      "The connection to the event store broke after an append was sent",
      { cause },
    )
    // The server checks credentials first, so an append with wrong ones was not stored. A node that does not lead
    // stores nothing, but does not say which of several appends it still accepted as leader.
    const isUntried = rejection instanceof NotLeader && this.#pending.size === 1
    const outcome = rejection instanceof AccessDenied || isUntried ? rejection : unknown
    for (const append of this.#pending.values()) append.reject(outcome)
    this.#pending.clear()
  }

  /** Cancels a retired pipeline after its last answer, so that its client can close. */
  #endWhenIdle(): void {
    if (this.#session.retired.aborted && this.#pending.size === 0) this.#call?.cancel()
  }
}

function parseAppendOutcome(answer: BatchAppendResp, append: PendingAppend): AppendResult | Error {
  const { stream, expectedRevision } = append
  const rejection = answer.getError()
  if (rejection !== undefined) return appendErrorFromStatus(rejection, stream, expectedRevision)
  const success = answer.getSuccess()
  const position = success?.getPosition()
  if (success === undefined || position === undefined) {
    return new UnknownOutcome(
      `stream ${stream}: the event store confirmed an append without its position`,
    )
  }
  return {
    revision: Number(success.getCurrentRevision()),
    position: {
      commit: BigInt(position.getCommitPosition()),
      prepare: BigInt(position.getPreparePosition()),
    },
  }
}

/** Formats a UUID as text; the server sends it as two numbers when its own timer expired. */
function uuidText(id: UUID | undefined): string {
  const structured = id?.getStructured()
  if (structured === undefined) return id?.getString() ?? ""
  const half = (bits: string): string =>
    BigInt.asUintN(64, BigInt(bits)).toString(16).padStart(16, "0")
  const hex = half(structured.getMostSignificantBits()) + half(structured.getLeastSignificantBits())
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5")
}

/**
 * Encodes an append under a correlation id. It has no deadline: that would be a time of this
 * machine's clock, and the server has its own timeout.
 */
function appendRequest(
  correlationId: string,
  { stream, events, expectedRevision }: AppendProposal,
): BatchAppendReq {
  const options = new streams.BatchAppendReq.Options()
  options.setStreamIdentifier(new shared.StreamIdentifier().setStreamName(utf8Bytes(stream)))
  if (expectedRevision === NO_STREAM) options.setNoStream(new shared.Empty())
  else options.setStreamPosition(String(expectedRevision))
  return new streams.BatchAppendReq()
    .setCorrelationId(toUuidMessage(correlationId))
    .setOptions(options)
    .setProposedMessagesList(events.map(proposedMessage))
    .setIsFinal(true)
}

/** The content type only tells the store's browser to display facts as JSON; the bytes are the text's. */
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
