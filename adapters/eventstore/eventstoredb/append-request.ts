import shared from "@eventstore/db-client/generated/shared_pb.js"
import streams, { type BatchAppendReq } from "@eventstore/db-client/generated/streams_pb.js"

import { NO_STREAM, type ProposedEvent } from "../port.ts"
import type { AppendProposal } from "../proposal.ts"

/**
 * An append as the server takes it, under a name for its answer. No deadline goes along: it would be
 * an instant of this machine's clock, and the server has a time of its own.
 */
export function appendRequest(
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
