import shared from "@eventstore/db-client/generated/shared_pb.js"
import streams, { type ReadReq } from "@eventstore/db-client/generated/streams_pb.js"

import { comparePositions, type Position, type ReadRange, START } from "../port.ts"

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
