import shared from "@eventstore/db-client/generated/shared_pb.js"
import streams from "@eventstore/db-client/generated/streams_pb.js"
import type { ReadReq, ReadResp } from "@eventstore/db-client/generated/streams_pb.js"
import type { Position, ReadRange, StoredEvent } from "../port.ts"
import { comparePositions, START } from "../port.ts"

const FORWARDS = 0
const BACKWARDS = 1

/** More events than any stream has; the server's own client sends the same limit. */
const NO_LIMIT = Number.MAX_SAFE_INTEGER

/** The server scans at most this many events before it sends the matches. */
const SEARCH_WINDOW_EVENTS = 1_000

/** Excludes the server's own streams (statistics, settings, links to events), which start with `$`. */
const NON_SYSTEM_STREAMS = "^[^$]"

/** Builds a request that reads one stream. */
export function streamReadRequest(stream: string, range: ReadRange): ReadReq {
  const selection = new streams.ReadReq.Options.StreamOptions().setStreamIdentifier(
    new shared.StreamIdentifier().setStreamName(Buffer.from(stream, "utf8")),
  )
  const isForwards = range.direction !== "backwards"
  if (range.from !== undefined) selection.setRevision(String(range.from))
  else if (isForwards) selection.setStart(new shared.Empty())
  else selection.setEnd(new shared.Empty())
  const options = readOptions(isForwards)
    .setStream(selection)
    .setCount(String(range.limit ?? NO_LIMIT))
    .setNoFilter(new shared.Empty())
  return readRequest(options)
}

/**
 * Builds a request that reads all streams from a position, including the event there if it passes the
 * filter.
 */
export function allStreamsReadRequest(
  from: Position,
  prefixes: readonly string[] | undefined,
): ReadReq {
  return readRequest(
    readOptions(true)
      .setAll(positionOptions(from))
      .setCount(String(NO_LIMIT))
      .setFilter(filterOptions(prefixes)),
  )
}

/** Builds a request that reads the newest event that is not the server's own. */
export function newestEventRequest(): ReadReq {
  return readRequest(lastEventOptions().setFilter(filterOptions(undefined)))
}

/** Builds a request that reads the newest event of all, including the server's own. */
export function storeEndRequest(): ReadReq {
  return readRequest(lastEventOptions().setNoFilter(new shared.Empty()))
}

/** Builds a request that follows all streams after a position. */
export function subscriptionRequest(after: Position): ReadReq {
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
  const options = new streams.ReadReq.Options.AllOptions()
  if (comparePositions(position, START) <= 0) return options.setStart(new shared.Empty())
  return options.setPosition(
    new streams.ReadReq.Options.Position()
      .setCommitPosition(String(position.commit))
      .setPreparePosition(String(position.prepare)),
  )
}

/**
 * Filters by stream name. It uses a regular expression because the server's prefix
 * comparison is culture-sensitive and may ignore characters.
 */
function filterOptions(prefixes: readonly string[] | undefined): ReadReq.Options.FilterOptions {
  const names = prefixes?.map((prefix) => prefix.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"))
  const regex = names === undefined ? NON_SYSTEM_STREAMS : `^(?!\\$)(?:${names.join("|")})`
  return new streams.ReadReq.Options.FilterOptions()
    .setStreamIdentifier(new streams.ReadReq.Options.FilterOptions.Expression().setRegex(regex))
    .setMax(SEARCH_WINDOW_EVENTS)
    .setCheckpointintervalmultiplier(1)
}

type RecordedEvent = ReadResp.ReadEvent.RecordedEvent

/** Decodes an event of the server; its text stays unchanged byte by byte. */
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

function decodeUtf8(bytes: Uint8Array | undefined): string {
  if (bytes === undefined) return ""
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8")
}

/**
 * The stream settings that hide events: all but the newest `$maxCount`, those older than `$maxAge`
 * seconds, those before revision `$tb`.
 */
export const HIDING_SETTINGS = ["$maxCount", "$maxAge", "$tb"] as const

const HIDING_SETTING_PATTERN = /"(\$tb|\$maxAge|\$maxCount)"/

/** Name of the stream that holds a stream's settings; its last event is current. */
export function settingsStream(stream: string): string {
  return `$$${stream}`
}

/** The first setting in a settings event that hides events; null if there is none. */
export function findHidingSetting(data: string): string | null {
  return HIDING_SETTING_PATTERN.exec(data)?.[1] ?? null
}
