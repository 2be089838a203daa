import type { ReadReq, ReadResp } from "@eventstore/db-client/generated/streams_pb.js"
import { type ServerWritableStream, status as Code } from "@grpc/grpc-js"

import type { EventLog, LogRecord } from "./log.ts"
import { eventMessage, nameOf, refusalOf, streamNotFound } from "./messages.ts"

/** A call that reads. */
export type ReadCall = ServerWritableStream<ReadReq, ReadResp>

const FORWARDS = 0

/** The largest revision that a read may name: the server keeps revisions as signed integers of 64 bits. */
const LAST_REVISION = 2n ** 63n - 1n

/** Which events a filtered read gives, by the names of their streams. */
export type Filter = (record: LogRecord) => boolean

/** The filter of a request. */
export function filterOf(options: ReadReq.Options): Filter {
  const expression = options.getFilter()?.getStreamIdentifier()
  if (expression === undefined) return () => true
  const regex = expression.getRegex()
  if (regex !== "") {
    const pattern = new RegExp(regex)
    return ({ stream }) => pattern.test(stream)
  }
  return ({ stream }) => expression.getPrefixList().some((prefix) => stream.startsWith(prefix))
}

/** Sends the events that a read asks for, as fast as its reader takes them. */
export async function answerRead(call: ReadCall, log: EventLog): Promise<void> {
  const options = call.request.getOptions()
  if (options === undefined) throw new Error("a read without options")
  const stream = options.getStream()
  const count = Number(options.getCount())
  const name = nameOf(stream)
  if (count === 0 || (stream !== undefined && name === "")) {
    call.emit("error", refusalOf(Code.UNKNOWN, "Unexpected ReadStreamResult: Error"))
    return
  }
  if (stream?.hasRevision() === true && BigInt(stream.getRevision()) > LAST_REVISION) {
    const why = "Exception was thrown by handler. ArgumentOutOfRangeException: (Parameter 'value')"
    call.emit("error", refusalOf(Code.UNKNOWN, why))
    return
  }
  const there = stream === undefined ? [] : log.shown(name, Date.now())
  if (there === "deleted") {
    const told = { exception: "stream-deleted", "stream-name": name }
    call.emit("error", refusalOf(Code.FAILED_PRECONDITION, `Stream ${name} is deleted`, told))
    return
  }
  if (there === "no stream") {
    call.write(streamNotFound(name))
    call.end()
    return
  }
  const wanted =
    stream === undefined ? ofAll(options, log, count) : ofStream(stream, options, there)
  await send(call, wanted.slice(0, count))
  call.end()
}

/** Writes events as fast as they are taken; stops when nobody takes them any more. */
async function send(call: ReadCall, records: readonly LogRecord[]): Promise<void> {
  for (const record of records) {
    if (isOver(call)) return
    if (!call.write(eventMessage(record))) await drained(call)
  }
}

/** Whether nothing more can be sent. */
export function isOver(call: ReadCall): boolean {
  return call.cancelled || call.destroyed || call.writableEnded
}

/** Waits until more can be written, or the call is over. */
export async function drained(call: ReadCall): Promise<void> {
  await new Promise<void>((resolve) => {
    const done = (): void => {
      call.off("drain", done).off("close", done).off("cancelled", done)
      resolve()
    }
    call.on("drain", done).on("close", done).on("cancelled", done)
  })
}

function ofStream(
  part: ReadReq.Options.StreamOptions,
  options: ReadReq.Options,
  there: readonly LogRecord[],
): readonly LogRecord[] {
  const isForwards = options.getReadDirection() === FORWARDS
  const from = part.hasStart() ? 0 : part.hasEnd() ? Infinity : Number(part.getRevision())
  if (isForwards) return there.filter(({ revision }) => revision >= from)
  return there.filter(({ revision }) => revision <= from).toReversed()
}

/** It looks at one event after the other until it has as many as it was asked for. */
function ofAll(options: ReadReq.Options, log: EventLog, count: number): readonly LogRecord[] {
  const place = options.getAll()?.getPosition()
  const isForwards = options.getReadDirection() === FORWARDS
  const passes = filterOf(options)
  // A read begins with the event at its place, and backwards with the one before it.
  const isIn = ({ commit }: LogRecord): boolean => {
    if (place === undefined) return true
    const from = BigInt(place.getCommitPosition())
    return isForwards ? commit >= from : commit < from
  }
  const found: LogRecord[] = []
  const { records } = log
  for (let i = 0; i < records.length && found.length < count; i += 1) {
    const record = records.at(isForwards ? i : -1 - i) as LogRecord
    if (!isIn(record)) continue
    log.looked += 1
    if (passes(record)) found.push(record)
  }
  return found
}
