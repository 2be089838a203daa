import { randomUUID } from "node:crypto"
import { setImmediate as nextTurn } from "node:timers/promises"
import type { ReadReq, ReadResp } from "@eventstore/db-client/generated/streams_pb.js"
import type { ServerWritableStream } from "@grpc/grpc-js"
import { status as Code } from "@grpc/grpc-js"
import type { EventLog, LogRecord } from "./log.ts"
import {
  eventMessage,
  streamNameOf,
  grpcErrorOf,
  streamNotFound,
  caughtUp,
  checkpoint,
  confirmation,
} from "./messages.ts"

/** A call that reads. */
export type ReadCall = ServerWritableStream<ReadReq, ReadResp>

const FORWARDS = 0

/** The largest revision that a read may name: the server keeps revisions as signed integers of 64 bits. */
const LAST_REVISION = 2n ** 63n - 1n

/** Which events a filtered read gives, by the names of their streams. */
type Filter = (record: LogRecord) => boolean

/** The filter of a request. */
function filterOf(options: ReadReq.Options): Filter {
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
  const name = streamNameOf(stream)
  if (count === 0 || (stream !== undefined && name === "")) {
    call.emit("error", grpcErrorOf(Code.UNKNOWN, "Unexpected ReadStreamResult: Error"))
    return
  }
  if (stream?.hasRevision() === true && BigInt(stream.getRevision()) > LAST_REVISION) {
    const why = "Exception was thrown by handler. ArgumentOutOfRangeException: (Parameter 'value')"
    call.emit("error", grpcErrorOf(Code.UNKNOWN, why))
    return
  }
  const there = stream === undefined ? [] : log.visibleStream(name, Date.now())
  if (there === "deleted") {
    const told = { exception: "stream-deleted", "stream-name": name }
    call.emit("error", grpcErrorOf(Code.FAILED_PRECONDITION, `Stream ${name} is deleted`, told))
    return
  }
  if (there === "no stream") {
    call.write(streamNotFound(name))
    call.end()
    return
  }
  const wanted =
    stream === undefined ? allRecords(options, log, count) : streamRecords(stream, options, there)
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
function isOver(call: ReadCall): boolean {
  return call.cancelled || call.destroyed || call.writableEnded
}

/** Waits until more can be written, or the call is over. */
async function drained(call: ReadCall): Promise<void> {
  await new Promise<void>((resolve) => {
    const done = (): void => {
      call.off("drain", done).off("close", done).off("cancelled", done)
      resolve()
    }
    call.on("drain", done).on("close", done).on("cancelled", done)
  })
}

function streamRecords(
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
function allRecords(options: ReadReq.Options, log: EventLog, count: number): readonly LogRecord[] {
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
    log.readCount += 1
    if (passes(record)) found.push(record)
  }
  return found
}

/** So many events wait for a subscriber who is live; with one more he is too slow. */
const LIVE_BUFFER_EVENTS = 32

/** What a server does with a subscriber who is too slow: drop him, or let him read again. */
type WhenTooSlow = "drop" | "catch-up"

/** The ways of the server that a subscription is on. */
interface SubscriptionSettings {
  readonly whenTooSlow: WhenTooSlow
  /** Whether nothing is sent of what comes. */
  readonly isMute: () => boolean
}

/**
 * A subscription to all streams. It sends what there is, says that this was all, then sends what
 * comes, out of a buffer of 32 events.
 */
export class ServerSubscription {
  readonly #call: ReadCall
  readonly #log: EventLog
  readonly #ways: SubscriptionSettings
  readonly #passes: Filter
  readonly #interval: number
  /** What waits for a subscriber who is live: events, and places that were looked at without one. */
  #live: (LogRecord | bigint)[] | null = null
  #sent: bigint
  #considered = 0
  #wake: () => void = () => undefined

  constructor(call: ReadCall, log: EventLog, ways: SubscriptionSettings) {
    const options = call.request.getOptions()
    if (options === undefined) throw new Error("a subscription without options")
    this.#call = call
    this.#log = log
    this.#ways = ways
    this.#passes = filterOf(options)
    const filter = options.getFilter()
    const window = filter?.hasMax() === true ? filter.getMax() : LIVE_BUFFER_EVENTS
    this.#interval = window * (filter?.getCheckpointintervalmultiplier() ?? 1)
    const place = options.getAll()?.getPosition()
    this.#sent = place === undefined ? -1n : BigInt(place.getCommitPosition())
  }

  /** Runs until the subscriber leaves or is dropped. */
  async run(): Promise<void> {
    const forget = this.#log.onAppended((records) => this.#buffer(records))
    for (const event of ["close", "cancelled"]) this.#call.on(event, () => this.#wake())
    this.#call.write(confirmation(randomUUID()))
    while (!this.#isOver()) {
      await this.#catchUp()
      await this.#follow()
    }
    forget()
  }

  /** Ends it as a server does that has enough of it. */
  drop(): void {
    const state = this.#live === null ? "transitioning to live" : "live"
    this.#call.emit(
      "error",
      grpcErrorOf(
        Code.ABORTED,
        `Operation timed out: Consumer too slow to handle event while ${state}. ` +
          "Client resubscription required.",
      ),
    )
    this.#wake()
  }

  async #catchUp(): Promise<void> {
    this.#live = null
    const { records } = this.#log
    let next = records.findIndex(({ commit }) => commit > this.#sent)
    for (; next !== -1 && next < records.length && !this.#isOver(); next += 1) {
      const record = records[next]
      if (record === undefined) continue
      this.#sent = record.commit
      if (this.#passes(record)) await this.#send(record)
      if (this.#isInterval()) await this.#send(record.commit)
    }
    // From here to the message nothing can come: who is told that he has all, has all.
    this.#live = []
    if (!this.#isOver()) this.#call.write(caughtUp())
  }

  async #follow(): Promise<void> {
    while (!this.#isOver() && this.#live !== null) {
      const next = this.#live.shift()
      if (next === undefined) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve
        })
        continue
      }
      if (typeof next !== "bigint") this.#sent = next.commit
      await this.#send(next)
    }
  }

  async #send(next: LogRecord | bigint): Promise<void> {
    // The place of what follows, of which the server only knows where it begins.
    const message = typeof next === "bigint" ? checkpoint(next + 1n, 0n) : eventMessage(next)
    if (!this.#call.write(message)) await drained(this.#call)
    if (typeof next === "bigint") await nextTurn()
  }

  /** Whether enough was looked at since the last checkpoint. */
  #isInterval(): boolean {
    this.#considered += 1
    return this.#considered % this.#interval === 0
  }

  #buffer(records: readonly LogRecord[]): void {
    if (this.#live === null || this.#isOver() || this.#ways.isMute()) return
    for (const record of records) {
      if (this.#passes(record)) this.#live.push(record)
      if (this.#isInterval()) this.#live.push(record.commit)
    }
    if (this.#live.length > LIVE_BUFFER_EVENTS) {
      if (this.#ways.whenTooSlow === "drop") this.drop()
      else this.#live = null
    }
    this.#wake()
  }

  #isOver(): boolean {
    return isOver(this.#call)
  }
}
