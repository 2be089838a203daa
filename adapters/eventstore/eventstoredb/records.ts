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

/** The settings of a stream that hide events of it: so many of the newest events, those of so many seconds, those from a revision on. */
export const HIDING = ["$maxCount", "$maxAge", "$tb"] as const

const HIDES = /"(\$tb|\$maxAge|\$maxCount)"/

/** The stream that holds the settings of another one, the newest in its last event. */
export function settingsStream(stream: string): string {
  return `$$${stream}`
}

/** The first setting that hides events in the data of a settings event; null where none does. */
export function hidingSetting(data: string): string | null {
  return HIDES.exec(data)?.[1] ?? null
}
