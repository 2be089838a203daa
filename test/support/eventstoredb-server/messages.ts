import shared from "@eventstore/db-client/generated/shared_pb.js"
import rpc, { type Status } from "@eventstore/db-client/generated/status_pb.js"
import streams, {
  type BatchAppendReq,
  type BatchAppendResp,
  type ReadReq,
  type ReadResp,
} from "@eventstore/db-client/generated/streams_pb.js"
import { Metadata, type ServiceError, type status as Code } from "@grpc/grpc-js"
import any from "google-protobuf/google/protobuf/any_pb.js"

import { formatRevision } from "../../../adapters/eventstore/port.ts"
import type { LogAppendResult, ExpectedLogRevision, LogEvent, LogRecord } from "./log.ts"

/** A gRPC error with the server's metadata. */
export function grpcErrorOf(
  code: Code,
  details: string,
  entries: Readonly<Record<string, string>> = {},
): Partial<ServiceError> {
  const metadata = new Metadata()
  for (const [key, value] of Object.entries(entries)) metadata.set(key, value)
  return { code, details, metadata }
}

/** The message with an event, for reads and subscriptions. */
export function eventMessage(record: LogRecord): ReadResp {
  const sent = new streams.ReadResp.ReadEvent.RecordedEvent()
    .setId(new shared.UUID().setString(record.id))
    .setStreamIdentifier(streamIdentifier(record.stream))
    .setStreamRevision(formatRevision(record.revision))
    .setCommitPosition(String(record.commit))
    .setPreparePosition(String(record.prepare))
    .setData(record.data)
    .setCustomMetadata(record.metadata)
  sent
    .getMetadataMap()
    .set("type", record.type)
    .set("content-type", record.contentType)
    .set("created", "17638080000000000")
  return new streams.ReadResp().setEvent(
    new streams.ReadResp.ReadEvent().setEvent(sent).setCommitPosition(String(record.commit)),
  )
}

/** The message that a stream does not exist. */
export function streamNotFound(stream: string): ReadResp {
  return new streams.ReadResp().setStreamNotFound(
    new streams.ReadResp.StreamNotFound().setStreamIdentifier(streamIdentifier(stream)),
  )
}

/** The message that begins a subscription. */
export function confirmation(id: string): ReadResp {
  return new streams.ReadResp().setConfirmation(
    new streams.ReadResp.SubscriptionConfirmation().setSubscriptionId(id),
  )
}

/** The message that a subscription has sent all existing events. */
export function caughtUp(): ReadResp {
  return new streams.ReadResp().setCaughtUp(new streams.ReadResp.CaughtUp())
}

/** The message that a filtered subscription reached a position without a matching event. */
export function checkpoint(commit: bigint, prepare: bigint): ReadResp {
  return new streams.ReadResp().setCheckpoint(
    new streams.ReadResp.Checkpoint()
      .setCommitPosition(String(commit))
      .setPreparePosition(String(prepare)),
  )
}

/** The events of an append. */
export function proposedEventsOf(
  messages: readonly BatchAppendReq.ProposedMessage[],
): readonly LogEvent[] {
  return messages.map((message) => ({
    id: message.getId()?.getString() ?? "",
    type: message.getMetadataMap().get("type") ?? "",
    contentType: message.getMetadataMap().get("content-type") ?? "",
    data: message.getData_asU8(),
    metadata: message.getCustomMetadata_asU8(),
  }))
}

/** The revision that a batch append expects. */
export function expectedRevisionOf(options: BatchAppendReq.Options): ExpectedLogRevision {
  return options.hasNoStream() ? "no_stream" : Number(options.getStreamPosition())
}

/** The answer to a batch append with a result. */
export function appendAnswer(
  result: LogAppendResult,
  expected: ExpectedLogRevision,
): BatchAppendResp {
  if ("found" in result) return appendRejection(wrongRevision(Number(result.found), expected))
  const position = new shared.AllStreamPosition()
    .setCommitPosition(String(result.commit))
    .setPreparePosition(String(result.prepare))
  return new streams.BatchAppendResp().setSuccess(
    new streams.BatchAppendResp.Success()
      .setCurrentRevision(String(result.revision))
      .setPosition(position),
  )
}

/** The answer to a batch append that failed. */
export function appendRejection(status: Status): BatchAppendResp {
  return new streams.BatchAppendResp().setError(status)
}

/** The error status of an append: its name in the protocol with its content, or only a message. */
export function errorStatusOf(name: string, content: Uint8Array = new Uint8Array()): Status {
  const details = new any.Any()
  details.pack(content, name === "" ? "google.protobuf.Empty" : `event_store.client.${name}`)
  return new rpc.Status().setDetails(details).setMessage(name)
}

function wrongRevision(found: number, expected: ExpectedLogRevision): Status {
  const wrong = new shared.WrongExpectedVersion()
  if (found < 0) wrong.setCurrentNoStream(new shared.Empty())
  else wrong.setCurrentStreamRevision(String(found))
  if (expected === "no_stream") wrong.setExpectedNoStream(new shared.Empty())
  else wrong.setExpectedStreamPosition(String(expected))
  return errorStatusOf("WrongExpectedVersion", wrong.serializeBinary())
}

/** The name of a stream in a request. */
export function streamNameOf(
  message:
    | { readonly getStreamIdentifier: ReadReq.Options.StreamOptions["getStreamIdentifier"] }
    | undefined,
): string {
  const bytes = message?.getStreamIdentifier()?.getStreamName_asU8() ?? new Uint8Array()
  return Buffer.from(bytes).toString("utf8")
}

/** The name of a stream as the protocol writes it. */
export function streamIdentifier(stream: string): InstanceType<typeof shared.StreamIdentifier> {
  return new shared.StreamIdentifier().setStreamName(Buffer.from(stream, "utf8"))
}
