import { randomUUID } from "node:crypto"

import shared from "@eventstore/db-client/generated/shared_pb.js"
import type { UUID } from "@eventstore/db-client/generated/shared_pb.js"
import streams from "@eventstore/db-client/generated/streams_pb.js"
import type { BatchAppendReq, BatchAppendResp } from "@eventstore/db-client/generated/streams_pb.js"

import {
  AccessDenied,
  type Appended,
  NO_STREAM,
  type ProposedEvent,
  Unavailable,
  UnknownOutcome,
} from "../port.ts"
import type { AppendProposal } from "../proposal.ts"
import { NotLeader, appendRefusal, refusal } from "./failures.ts"
import type { Node } from "./node.ts"
import type { Session } from "./session.ts"

/** An append on its way, and who waits for it. */
export interface Append extends AppendProposal {
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
export class AppendLine {
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
