import type { ReadResp } from "@eventstore/db-client/generated/streams_pb.js"

import type { Position, StoredEvent } from "../port.ts"

/** An event as the server sends it. */
type Record = ReadResp.ReadEvent.RecordedEvent

/** An event of the port from one of the server, its text byte for byte as it was written. */
export function storedEvent(record: Record): StoredEvent {
  return {
    stream: textOf(record.getStreamIdentifier()?.getStreamName_asU8()),
    revision: Number(record.getStreamRevision()),
    position: placeOf(record),
    id: record.getId()?.getString() ?? "",
    type: record.getMetadataMap().get("type") ?? "",
    data: textOf(record.getData_asU8()),
    metadata: textOf(record.getCustomMetadata_asU8()),
  }
}

function placeOf(record: Record): Position {
  return {
    commit: BigInt(record.getCommitPosition()),
    prepare: BigInt(record.getPreparePosition()),
  }
}

/** UTF-8 as text, a byte order mark at its beginning included. */
function textOf(bytes: Uint8Array | undefined): string {
  if (bytes === undefined) return ""
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8")
}
