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
const NOT_THE_SERVERS = "^[^$]"

/** Reads one stream. */
export function streamRequest(stream: string, range: ReadRange): ReadReq {
  const part = new streams.ReadReq.Options.StreamOptions().setStreamIdentifier(
    new shared.StreamIdentifier().setStreamName(Buffer.from(stream, "utf8")),
  )
  const isForwards = range.direction !== "backwards"
  if (range.from !== undefined) part.setRevision(String(range.from))
  else if (isForwards) part.setStart(new shared.Empty())
  else part.setEnd(new shared.Empty())
  const options = optionsOf(isForwards)
    .setStream(part)
    .setCount(String(range.limit ?? NO_LIMIT))
    .setNoFilter(new shared.Empty())
  return requestOf(options)
}

/** Reads all streams from a place on, the event there included if it passes the filter. */
export function allRequest(from: Position, prefixes: readonly string[] | undefined): ReadReq {
  return requestOf(
    optionsOf(true).setAll(placeOf(from)).setCount(String(NO_LIMIT)).setFilter(filterOf(prefixes)),
  )
}

/** Reads the newest event that is not the server's own. */
export function newestRequest(): ReadReq {
  return requestOf(lastOf().setFilter(filterOf(undefined)))
}

/** Reads the newest event of all, the server's own included. */
export function endRequest(): ReadReq {
  return requestOf(lastOf().setNoFilter(new shared.Empty()))
}

/** Follows all streams strictly after a place, for ever. */
export function followRequest(after: Position): ReadReq {
  return requestOf(
    optionsOf(true)
      .setAll(placeOf(after))
      .setSubscription(new streams.ReadReq.Options.SubscriptionOptions())
      .setFilter(filterOf(undefined)),
  )
}

function requestOf(options: ReadReq.Options): ReadReq {
  return new streams.ReadReq().setOptions(options)
}

/** The one event at the end of all streams. */
function lastOf(): ReadReq.Options {
  const end = new streams.ReadReq.Options.AllOptions().setEnd(new shared.Empty())
  return optionsOf(false).setAll(end).setCount("1")
}

function optionsOf(isForwards: boolean): ReadReq.Options {
  return new streams.ReadReq.Options()
    .setReadDirection(isForwards ? FORWARDS : BACKWARDS)
    .setResolveLinks(false)
    .setUuidOption(new streams.ReadReq.Options.UUIDOption().setString(new shared.Empty()))
}

function placeOf(position: Position): ReadReq.Options.AllOptions {
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
function filterOf(prefixes: readonly string[] | undefined): ReadReq.Options.FilterOptions {
  const names = prefixes?.map((prefix) => prefix.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"))
  const regex = names === undefined ? NOT_THE_SERVERS : `^(?!\\$)(?:${names.join("|")})`
  return new streams.ReadReq.Options.FilterOptions()
    .setStreamIdentifier(new streams.ReadReq.Options.FilterOptions.Expression().setRegex(regex))
    .setMax(SEARCH_WINDOW_EVENTS)
    .setCheckpointintervalmultiplier(1)
}

/** An event as the server sends it. */
type Record = ReadResp.ReadEvent.RecordedEvent

/** An event of the port from one of the server, its text byte for byte as it was written. */
export function storedEvent(record: Record): StoredEvent {
  return {
    stream: textOf(record.getStreamIdentifier()?.getStreamName_asU8()),
    revision: Number(record.getStreamRevision()),
    position: positionOfRecord(record),
    id: record.getId()?.getString() ?? "",
    type: record.getMetadataMap().get("type") ?? "",
    data: textOf(record.getData_asU8()),
    metadata: textOf(record.getCustomMetadata_asU8()),
  }
}

function positionOfRecord(record: Record): Position {
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
