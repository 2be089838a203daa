import shared from "@eventstore/db-client/generated/shared_pb.js"
import streams from "@eventstore/db-client/generated/streams_pb.js"
import type { ReadReq, ReadResp } from "@eventstore/db-client/generated/streams_pb.js"
import type { Position, ReadRange, StoredEvent } from "../port.ts"
import { comparePositions, START } from "../port.ts"

const FORWARDS = 0
const BACKWARDS = 1

/** More than any stream has, and no more than the server's own client asks for. */
const NO_LIMIT = Number.MAX_SAFE_INTEGER

/** So many events at most are looked at before the server sends what it found in them. */
const SEARCH_WINDOW_EVENTS = 1_000

/** Names that begin with `$` are the server's own streams: statistics, settings, links to events. */
const NON_SYSTEM_STREAMS = "^[^$]"

/** Reads one stream. */
export function readStreamRequest(stream: string, range: ReadRange): ReadReq {
  const part = new streams.ReadReq.Options.StreamOptions().setStreamIdentifier(
    new shared.StreamIdentifier().setStreamName(Buffer.from(stream, "utf8")),
  )
  const isForwards = range.direction !== "backwards"
  if (range.from !== undefined) part.setRevision(String(range.from))
  else if (isForwards) part.setStart(new shared.Empty())
  else part.setEnd(new shared.Empty())
  const options = readOptions(isForwards)
    .setStream(part)
    .setCount(String(range.limit ?? NO_LIMIT))
    .setNoFilter(new shared.Empty())
  return readRequest(options)
}

/** Reads all streams from a place on, the event there included if it passes the filter. */
export function readAllRequest(from: Position, prefixes: readonly string[] | undefined): ReadReq {
  return readRequest(
    readOptions(true)
      .setAll(positionOptions(from))
      .setCount(String(NO_LIMIT))
      .setFilter(filterOptions(prefixes)),
  )
}

/** Reads the newest event that is not the server's own. */
export function readNewestRequest(): ReadReq {
  return readRequest(lastEventOptions().setFilter(filterOptions(undefined)))
}

/** Reads the newest event of all, the server's own included. */
export function readEndRequest(): ReadReq {
  return readRequest(lastEventOptions().setNoFilter(new shared.Empty()))
}

/** Follows all streams strictly after a place, for ever. */
export function subscribeRequest(after: Position): ReadReq {
  return readRequest(
    readOptions(true)
      .setAll(positionOptions(after))
      .setSubscription(new streams.ReadReq.Options.SubscriptionOptions())
      .setFilter(filterOptions(undefined)),
  )
}

function readRequest(options: ReadReq.Options): ReadReq {
  return new streams.ReadReq().setOptions(options)
}

/** The one event at the end of all streams. */
function lastEventOptions(): ReadReq.Options {
  const end = new streams.ReadReq.Options.AllOptions().setEnd(new shared.Empty())
  return readOptions(false).setAll(end).setCount("1")
}

function readOptions(isForwards: boolean): ReadReq.Options {
  return new streams.ReadReq.Options()
    .setReadDirection(isForwards ? FORWARDS : BACKWARDS)
    .setResolveLinks(false)
    .setUuidOption(new streams.ReadReq.Options.UUIDOption().setString(new shared.Empty()))
}

function positionOptions(position: Position): ReadReq.Options.AllOptions {
  const place = new streams.ReadReq.Options.AllOptions()
  if (comparePositions(position, START) <= 0) return place.setStart(new shared.Empty())
  return place.setPosition(
    new streams.ReadReq.Options.Position()
      .setCommitPosition(String(position.commit))
      .setPreparePosition(String(position.prepare)),
  )
}

/**
 * Which streams to give: an expression, because the server compares prefixes by the rules of a
 * language, in which a name may begin with what is not its first letters.
 */
function filterOptions(prefixes: readonly string[] | undefined): ReadReq.Options.FilterOptions {
  const names = prefixes?.map((prefix) => prefix.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"))
  const regex = names === undefined ? NON_SYSTEM_STREAMS : `^(?!\\$)(?:${names.join("|")})`
  return new streams.ReadReq.Options.FilterOptions()
    .setStreamIdentifier(new streams.ReadReq.Options.FilterOptions.Expression().setRegex(regex))
    .setMax(SEARCH_WINDOW_EVENTS)
    .setCheckpointintervalmultiplier(1)
}

/** An event as the server sends it. */
type RecordedEvent = ReadResp.ReadEvent.RecordedEvent

/** An event of the port from one of the server, its text byte for byte as it was written. */
export function toStoredEvent(record: RecordedEvent): StoredEvent {
  return {
    stream: decodeUtf8(record.getStreamIdentifier()?.getStreamName_asU8()),
    revision: Number(record.getStreamRevision()),
    position: positionOfRecord(record),
    id: record.getId()?.getString() ?? "",
    type: record.getMetadataMap().get("type") ?? "",
    data: decodeUtf8(record.getData_asU8()),
    metadata: decodeUtf8(record.getCustomMetadata_asU8()),
  }
}

function positionOfRecord(record: RecordedEvent): Position {
  return {
    commit: BigInt(record.getCommitPosition()),
    prepare: BigInt(record.getPreparePosition()),
  }
}

/** UTF-8 as text, a byte order mark at its beginning included. */
function decodeUtf8(bytes: Uint8Array | undefined): string {
  if (bytes === undefined) return ""
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8")
}

/** The settings of a stream that hide events of it: so many of the newest events, those of so many seconds, those from a revision on. */
export const HIDING_SETTINGS = ["$maxCount", "$maxAge", "$tb"] as const

const HIDING_SETTING_PATTERN = /"(\$tb|\$maxAge|\$maxCount)"/

/** The stream that holds the settings of another one, the newest in its last event. */
export function settingsStream(stream: string): string {
  return `$$${stream}`
}

/** The first setting that hides events in the data of a settings event; null where none does. */
export function findHidingSetting(data: string): string | null {
  return HIDING_SETTING_PATTERN.exec(data)?.[1] ?? null
}
