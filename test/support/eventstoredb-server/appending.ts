import shared from "@eventstore/db-client/generated/shared_pb.js"
import type { Status } from "@eventstore/db-client/generated/status_pb.js"
import type { BatchAppendReq, BatchAppendResp } from "@eventstore/db-client/generated/streams_pb.js"
import type { ServerDuplexStream, ServiceError } from "@grpc/grpc-js"
import type { EventLog, LogEvent } from "./log.ts"
import {
  errorStatusOf,
  appendAnswer,
  appendRejection,
  proposedEventsOf,
  expectedRevisionOf,
  streamIdentifier,
  streamNameOf,
} from "./messages.ts"

/** What the server does with an append. */
export type ServerAppendFault =
  /** Stores and answers it. */
  | "none"
  /** Cuts the connection, before or after storing it. */
  | "cut-unstored"
  | "cut-stored"
  /** Never answers. */
  | "silent-unstored"
  | "silent-stored"
  /** Answers that it timed out. */
  | "timeout-stored"
  | "timeout-unstored"
  /** Rejects it without storing it. */
  | Refusal

/** A rejection without an attempt. */
type Refusal =
  | "not-ready"
  | "busy"
  | "no-leader"
  | "denied"
  | "too-large"
  | "deleted"
  | "bad-request"
  | "unknown"

/** The server's own limit for one append. */
const MAX_APPEND_BYTES = 1024 * 1024

/** Whether this fault leaves the append stored. */
function isStored(fault: ServerAppendFault): boolean {
  return fault === "none" || fault.endsWith("-stored")
}

function answerOf(fault: ServerAppendFault, stream: string): Status | null {
  switch (fault) {
    case "none":
    case "cut-unstored":
    case "cut-stored":
    case "silent-unstored":
    case "silent-stored":
      return null
    case "timeout-stored":
    case "timeout-unstored":
      return errorStatusOf("Timeout")
    case "not-ready":
      return errorStatusOf("").setMessage("Server Is Not Ready")
    case "busy":
      return errorStatusOf("").setMessage("Server Is Busy")
    case "no-leader":
      return errorStatusOf("").setMessage("No leader info available in response")
    case "denied":
      return errorStatusOf("AccessDenied")
    case "too-large":
      return tooLarge()
    case "deleted":
      return streamDeleted(stream)
    case "bad-request":
      return errorStatusOf("BadRequest", new shared.BadRequest().setMessage("no").serializeBinary())
    case "unknown":
      return errorStatusOf("Unknown")
  }
}

/** The answer to an append over the limit. */
function tooLarge(): Status {
  const limit = new shared.MaximumAppendSizeExceeded().setMaxappendsize(MAX_APPEND_BYTES)
  return errorStatusOf("MaximumAppendSizeExceeded", limit.serializeBinary())
}

/** The answer to an append to a hard-deleted stream. */
function streamDeleted(stream: string): Status {
  const deleted = new shared.StreamDeleted().setStreamIdentifier(streamIdentifier(stream))
  return errorStatusOf("StreamDeleted", deleted.serializeBinary())
}

/** A call that carries appends and their answers. */
export type BatchAppendCall = ServerDuplexStream<BatchAppendReq, BatchAppendResp>

/** An append as it arrived at the server. */
export interface ReceivedAppend {
  readonly stream: string
  readonly ids: readonly string[]
  readonly types: readonly string[]
}

/** The server's parts that appends need. */
interface AppendContext {
  readonly log: EventLog
  /** Chooses the fault of each append. */
  readonly faultOf: (arrival: ReceivedAppend) => ServerAppendFault
  /** The error if this node currently rejects all appends; otherwise null. */
  readonly refusal: () => Partial<ServiceError> | null
  /** Breaks the connections of all clients. */
  readonly cut: () => void
}

/** An append that may not have arrived completely. */
interface PartialAppend {
  readonly options: BatchAppendReq.Options
  readonly events: LogEvent[]
}

/** Handles the appends of a call and answers each with its correlation id. */
export function answerBatchAppends(call: BatchAppendCall, context: AppendContext): void {
  const pending = new Map<string, PartialAppend>()
  call.on("data", (request: BatchAppendReq) => {
    const id = request.getCorrelationId()?.getString() ?? ""
    const options = request.getOptions()
    if (options !== undefined) pending.set(id, { options, events: [] })
    const append = pending.get(id)
    append?.events.push(...proposedEventsOf(request.getProposedMessagesList()))
    if (append === undefined || !request.getIsFinal()) return
    pending.delete(id)
    const refused = context.refusal()
    if (refused !== null) {
      call.emit("error", refused)
      return
    }
    const answer = handleAppend(append, context)
    if (answer === null || call.destroyed) return
    answer
      .setCorrelationId(request.getCorrelationId())
      .setStreamIdentifier(streamIdentifier(streamNameOf(append.options)))
    call.write(answer)
  })
  call.on("end", () => call.end())
}

/** Stores an append unless its fault forbids it; returns the answer if there is one. */
function handleAppend(
  { options, events }: PartialAppend,
  context: AppendContext,
): BatchAppendResp | null {
  const stream = streamNameOf(options)
  const [ids, types] = [events.map(({ id }) => id), events.map(({ type }) => type)]
  const fault = context.faultOf({ stream, ids, types })
  const expected = expectedRevisionOf(options)
  const answer = answerOf(fault, stream)
  if (fault === "none" && sizeOf(events) > MAX_APPEND_BYTES) return appendRejection(tooLarge())
  const result = isStored(fault) ? context.log.append(stream, expected, events) : null
  if (fault.startsWith("cut-")) context.cut()
  if (answer !== null) return appendRejection(answer)
  if (result === null || fault !== "none") return null
  if ("found" in result && result.found === "deleted") return appendRejection(streamDeleted(stream))
  return appendAnswer(result, expected)
}

/** Size of an append in bytes, as the server counts it. */
function sizeOf(events: readonly LogEvent[]): number {
  return events.reduce(
    (sum, { data, metadata, type }) => sum + data.length + metadata.length + 2 * type.length,
    0,
  )
}
