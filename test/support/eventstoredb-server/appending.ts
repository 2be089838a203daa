import streams, {
  type AppendReq,
  type AppendResp,
  type BatchAppendReq,
  type BatchAppendResp,
} from "@eventstore/db-client/generated/streams_pb.js"
import type {
  sendUnaryData,
  ServerDuplexStream,
  ServerReadableStream,
  ServiceError,
} from "@grpc/grpc-js"

import {
  type AppendFault,
  answerOf,
  isStored,
  MAX_APPEND_BYTES,
  streamDeleted,
  tooLarge,
} from "./faults.ts"
import type { EventLog, LogEvent } from "./log.ts"
import {
  appendAnswer,
  appendRefusal,
  eventsOf,
  expectedOf,
  identifier,
  nameOf,
} from "./messages.ts"

/** A call on which appends come and their answers go. */
export type BatchAppendCall = ServerDuplexStream<BatchAppendReq, BatchAppendResp>

/** An append as it came to the server, before anything is done with it. */
export interface Arrival {
  readonly stream: string
  readonly ids: readonly string[]
  readonly types: readonly string[]
}

/** What appends are stored in, and what may happen to them. */
export interface AppendHouse {
  readonly log: EventLog
  /** Called for each append; answers what is to happen to it. */
  readonly faultOf: (arrival: Arrival) => AppendFault
  /** Why this node takes no appends at all by now; null where it does. */
  readonly refusal: () => Partial<ServiceError> | null
  /** Breaks the connections of all clients. */
  readonly cut: () => void
}

/** An append of which the last part may still be missing. */
interface Pending {
  readonly options: BatchAppendReq.Options
  readonly events: LogEvent[]
}

/** Takes appends from a call and answers each under its name. */
export function answerBatchAppends(call: BatchAppendCall, house: AppendHouse): void {
  const pending = new Map<string, Pending>()
  call.on("data", (request: BatchAppendReq) => {
    const id = request.getCorrelationId()?.getString() ?? ""
    const options = request.getOptions()
    if (options !== undefined) pending.set(id, { options, events: [] })
    const append = pending.get(id)
    append?.events.push(...eventsOf(request.getProposedMessagesList()))
    if (append === undefined || !request.getIsFinal()) return
    pending.delete(id)
    const refused = house.refusal()
    if (refused !== null) {
      call.emit("error", refused)
      return
    }
    const answer = decide(append, house)
    if (answer === null || call.destroyed) return
    answer
      .setCorrelationId(request.getCorrelationId())
      .setStreamIdentifier(identifier(nameOf(append.options)))
    call.write(answer)
  })
  call.on("end", () => call.end())
}

/** Stores an append or not, and gives the answer if there is one. */
function decide({ options, events }: Pending, house: AppendHouse): BatchAppendResp | null {
  const stream = nameOf(options)
  const [ids, types] = [events.map(({ id }) => id), events.map(({ type }) => type)]
  const fault = house.faultOf({ stream, ids, types })
  const expected = expectedOf(options)
  const answer = answerOf(fault, stream)
  if (fault === "none" && sizeOf(events) > MAX_APPEND_BYTES) return appendRefusal(tooLarge())
  const result = isStored(fault) ? house.log.append(stream, expected, events) : null
  if (fault.startsWith("cut-")) house.cut()
  if (answer !== null) return appendRefusal(answer)
  if (result === null || fault !== "none") return null
  if ("found" in result && result.found === "deleted") return appendRefusal(streamDeleted(stream))
  return appendAnswer(result, expected)
}

/** The bytes of an append as the server counts them. */
function sizeOf(events: readonly LogEvent[]): number {
  return events.reduce(
    (sum, { data, metadata, type }) => sum + data.length + metadata.length + 2 * type.length,
    0,
  )
}

/** The slow way of appending: a call for each, which calls with credentials of their own take. */
export function answerAppend(
  call: ServerReadableStream<AppendReq, AppendResp>,
  respond: sendUnaryData<AppendResp>,
  log: EventLog,
): void {
  const messages: AppendReq.ProposedMessage[] = []
  let options: AppendReq.Options | undefined
  call.on("data", (request: AppendReq) => {
    options = request.getOptions() ?? options
    const message = request.getProposedMessage()
    if (message !== undefined) messages.push(message)
  })
  call.on("end", () => {
    if (options === undefined) return respond(new Error("an append without options"))
    const expected = options.hasNoStream() ? "no_stream" : Number(options.getRevision())
    const result = log.append(nameOf(options), expected, eventsOf(messages))
    const answer = new streams.AppendResp()
    if ("found" in result) {
      const wrong = new streams.AppendResp.WrongExpectedVersion()
      if (typeof result.found === "number" && result.found >= 0)
        wrong.setCurrentRevision(String(result.found))
      respond(null, answer.setWrongExpectedVersion(wrong))
      return
    }
    const position = new streams.AppendResp.Position()
      .setCommitPosition(String(result.commit))
      .setPreparePosition(String(result.prepare))
    const success = new streams.AppendResp.Success()
      .setCurrentRevision(String(result.revision))
      .setPosition(position)
    respond(null, answer.setSuccess(success))
  })
}
