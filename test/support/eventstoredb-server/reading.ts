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

export type ReadCall = ServerWritableStream<ReadReq, ReadResp>

const FORWARDS = 0

/** The largest revision that a read may name: revisions are signed 64-bit integers. */
const LAST_REVISION = 2n ** 63n - 1n

/** Whether a filtered read returns an event, by the name of its stream. */
type Filter = (record: LogRecord) => boolean

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

/** Sends the events of a read, as fast as the reader accepts them. */
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
    const details =
      "Exception was thrown by handler. ArgumentOutOfRangeException: (Parameter 'value')"
    call.emit("error", grpcErrorOf(Code.UNKNOWN, details))
    return
  }
  const visible = stream === undefined ? [] : log.visibleStream(name, Date.now())
  if (visible === "deleted") {
    const metadata = { exception: "stream-deleted", "stream-name": name }
    call.emit("error", grpcErrorOf(Code.FAILED_PRECONDITION, `Stream ${name} is deleted`, metadata))
    return
  }
  if (visible === "no stream") {
    call.write(streamNotFound(name))
    call.end()
    return
  }
  const wanted =
    stream === undefined ? allRecords(options, log, count) : streamRecords(stream, options, visible)
  await send(call, wanted.slice(0, count))
  call.end()
}

/** Writes events as fast as the reader accepts them; stops when the call ends. */
async function send(call: ReadCall, records: readonly LogRecord[]): Promise<void> {
  for (const record of records) {
    if (isOver(call)) return
    if (!call.write(eventMessage(record))) await drained(call)
  }
}

/** Whether the call has ended. */
function isOver(call: ReadCall): boolean {
  return call.cancelled || call.destroyed || call.writableEnded
}

/** Waits until more can be written or the call ends. */
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
  records: readonly LogRecord[],
): readonly LogRecord[] {
  const isForwards = options.getReadDirection() === FORWARDS
  const from = part.hasStart() ? 0 : part.hasEnd() ? Infinity : Number(part.getRevision())
  if (isForwards) return records.filter(({ revision }) => revision >= from)
  return records.filter(({ revision }) => revision <= from).toReversed()
}

/** Examines one event after the other until it has found `count`. */
function allRecords(options: ReadReq.Options, log: EventLog, count: number): readonly LogRecord[] {
  const position = options.getAll()?.getPosition()
  const isForwards = options.getReadDirection() === FORWARDS
  const passes = filterOf(options)
  // A forward read begins with the event at its position, a backward read with the event before it.
  const isInRange = ({ commit }: LogRecord): boolean => {
    if (position === undefined) return true
    const from = BigInt(position.getCommitPosition())
    return isForwards ? commit >= from : commit < from
  }
  const found: LogRecord[] = []
  const { records } = log
  for (let i = 0; i < records.length && found.length < count; i += 1) {
    const record = records.at(isForwards ? i : -1 - i) as LogRecord
    if (!isInRange(record)) continue
    log.readCount += 1
    if (passes(record)) found.push(record)
  }
  return found
}

/** Maximum number of events that wait for a live subscriber; with more it is too slow. */
const LIVE_BUFFER_EVENTS = 32

/** What a server does with a slow subscriber: drop it, or let it catch up from the log. */
type WhenTooSlow = "drop" | "catch-up"

/** The server's behavior towards a subscription. */
interface SubscriptionSettings {
  readonly whenTooSlow: WhenTooSlow
  /** Whether new events are withheld. */
  readonly isMute: () => boolean
}

/**
 * A subscription to all streams. It sends the existing events, a message that it has caught up, and then new events
 * from a buffer of 32.
 */
export class ServerSubscription {
  readonly #call: ReadCall
  readonly #log: EventLog
  readonly #settings: SubscriptionSettings
  readonly #passes: Filter
  readonly #interval: number
  /** Queue of a live subscriber: events, and checkpoints as positions. */
  #live: (LogRecord | bigint)[] | null = null
  #sent: bigint
  #considered = 0
  #wake: () => void = () => undefined

  constructor(call: ReadCall, log: EventLog, settings: SubscriptionSettings) {
    const options = call.request.getOptions()
    if (options === undefined) throw new Error("a subscription without options")
    this.#call = call
    this.#log = log
    this.#settings = settings
    this.#passes = filterOf(options)
    const filter = options.getFilter()
    const window = filter?.hasMax() === true ? filter.getMax() : LIVE_BUFFER_EVENTS
    this.#interval = window * (filter?.getCheckpointintervalmultiplier() ?? 1)
    const position = options.getAll()?.getPosition()
    this.#sent = position === undefined ? -1n : BigInt(position.getCommitPosition())
  }

  /** Runs until the subscriber leaves or is dropped. */
  async run(): Promise<void> {
    const unsubscribe = this.#log.onAppended((records) => this.#buffer(records))
    for (const event of ["close", "cancelled"]) this.#call.on(event, () => this.#wake())
    this.#call.write(confirmation(randomUUID()))
    while (!this.#isOver()) {
      await this.#catchUp()
      await this.#follow()
    }
    unsubscribe()
  }

  /** Ends the subscription as a server ends a slow one. */
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
    // Synchronous up to the message: when the subscriber gets it, no event is missing.
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
    // A checkpoint names the next position, whose prepare position is still unknown.
    const message = typeof next === "bigint" ? checkpoint(next + 1n, 0n) : eventMessage(next)
    if (!this.#call.write(message)) await drained(this.#call)
    if (typeof next === "bigint") await nextTurn()
  }

  /** Whether a checkpoint is due. */
  #isInterval(): boolean {
    this.#considered += 1
    return this.#considered % this.#interval === 0
  }

  #buffer(records: readonly LogRecord[]): void {
    if (this.#live === null || this.#isOver() || this.#settings.isMute()) return
    for (const record of records) {
      if (this.#passes(record)) this.#live.push(record)
      if (this.#isInterval()) this.#live.push(record.commit)
    }
    if (this.#live.length > LIVE_BUFFER_EVENTS) {
      if (this.#settings.whenTooSlow === "drop") this.drop()
      else this.#live = null
    }
    this.#wake()
  }

  #isOver(): boolean {
    return isOver(this.#call)
  }
}
