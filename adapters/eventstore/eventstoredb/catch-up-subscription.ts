import type { ReadResp } from "@eventstore/db-client/generated/streams_pb.js"
import { pause, ChangeSignal } from "../follow.ts"
import type { Position, ReadAllRange, StoredEvent, Subscriber } from "../port.ts"
import { comparePositions, START } from "../port.ts"
import type { EventStoreDbConnection } from "./connection.ts"
import { isConsumerTooSlow, storeErrorFromGrpc } from "./session.ts"
import { subscribeRequest, toStoredEvent } from "./read-requests.ts"
import type { EventStoreDbReader } from "./reader.ts"
import type { ClusterNode } from "./cluster-node.ts"

const FIRST_BACKOFF_MS = 50
const MAX_BACKOFF_MS = 2_000

/** The server is asked for its head at most this often. */
const HEAD_READ_INTERVAL_MS = 10

/** Where a follower gets its events from. */
export interface CatchUpSource {
  readonly connection: EventStoreDbConnection
  readonly reader: EventStoreDbReader
  /** The head is asked for when nothing came for so many milliseconds. */
  readonly pollMs: number
}

/** What a subscriber threw, on its way past everything that the store throws. */
class SubscriberFault extends Error {
  override readonly name = "SubscriberFault"
}

/**
 * Hands over events for ever, in two ways by turns. It reads up to the head, with the server leaving
 * out what is not wanted; then it follows, and takes everything but the server's own streams, so that
 * it knows the head at any time. Whenever following ends it reads again from the last place that was
 * handled: at once when the server dropped it for slowness or there was more than it may keep, after a
 * pause when the store was lost.
 */
export class CatchUpSubscription {
  readonly #source: CatchUpSource
  readonly #prefixes: readonly string[] | undefined
  readonly #subscriber: Subscriber
  readonly #stopping: AbortSignal
  /** Everything up to here was handed over, or is not wanted. */
  #deliveredUpTo: Position
  #isLost = false

  constructor(
    source: CatchUpSource,
    range: Pick<ReadAllRange, "after" | "prefixes">,
    subscriber: Subscriber,
    stopping: AbortSignal,
  ) {
    this.#source = source
    this.#prefixes = range.prefixes
    this.#subscriber = subscriber
    this.#stopping = stopping
    this.#deliveredUpTo = range.after ?? START
  }

  /** Runs until it is stopped, or until the subscriber throws, and then throws the same. */
  async run(): Promise<void> {
    for (let failures = 0; !this.#stopping.aborted;) {
      const before = this.#deliveredUpTo
      try {
        await this.#readUpToHead()
        await this.#subscribe()
      } catch (error) {
        if (error instanceof SubscriberFault) throw error.cause
        this.#notifyInterrupted(storeErrorFromGrpc(error))
      }
      const gotOn = comparePositions(this.#deliveredUpTo, before) > 0
      failures = gotOn ? 0 : failures + 1
      if (gotOn && !this.#isLost) continue
      await pause(Math.min(FIRST_BACKOFF_MS * 2 ** failures, MAX_BACKOFF_MS), this.#stopping)
    }
  }

  /** Reads up to the head. @throws Unavailable, AccessDenied, SubscriberFault */
  async #readUpToHead(): Promise<void> {
    const { reader } = this.#source
    const [after, prefixes, signal] = [this.#deliveredUpTo, this.#prefixes, this.#stopping]
    const upTo = await reader.head(signal)
    for await (const page of reader.readAll({ after, upTo, prefixes, signal })) {
      await this.#deliver(page)
      this.#deliveredUpTo = page.at(-1)?.position ?? this.#deliveredUpTo
      if (signal.aborted) return
    }
    if (signal.aborted) return
    this.#deliveredUpTo = upTo
    await this.#notifyCaughtUp(upTo)
  }

  /** Follows from there, until that ends. @throws Unavailable, AccessDenied, SubscriberFault */
  async #subscribe(): Promise<void> {
    const { session } = this.#source.connection
    const flow = new LiveEventBuffer(this.#deliveredUpTo, ({ stream }) => this.#isWanted(stream))
    const leave = (): void => flow.stop()
    const ends = [this.#stopping, session.retired]
    for (const signal of ends) signal.addEventListener("abort", leave)
    if (this.#stopping.aborted) leave()
    try {
      const { call, node } = await session.call((grpc, ...parameters) => {
        const begun = grpc.read(subscribeRequest(this.#deliveredUpTo), ...parameters)
        begun.on("data", (message: ReadResp) => flow.receive(message))
        begun.on("error", (cause: Error) => this.#endSubscription(flow, cause))
        begun.on("end", leave)
        return begun
      })
      flow.onEnd = () => call.cancel()
      if (flow.hasEnded) call.cancel()
      await this.#deliverLive(flow, node)
    } finally {
      leave()
      for (const signal of ends) signal.removeEventListener("abort", leave)
    }
  }

  /**
   * Hands over what comes. Where the head is, only the server knows: it is asked when nothing is left
   * to hand over, not more often than is of use, and when nothing comes.
   *
   * @throws Unavailable, AccessDenied, SubscriberFault
   */
  async #deliverLive(flow: LiveEventBuffer, node: ClusterNode): Promise<void> {
    const { reader, pollMs } = this.#source
    let told = this.#deliveredUpTo
    let head: Position | null = null
    let lookedAt = 0
    while (!flow.hasEnded) {
      const { events, end } = flow.takeBatch()
      node.noteSeen(end, events)
      await this.#deliver(events)
      this.#deliveredUpTo = end
      if (head !== null && comparePositions(end, head) >= 0) {
        await this.#notifyCaughtUp(head)
        told = head
        head = null
      }
      if (flow.hasEventsAfter(end)) continue
      if (head !== null) {
        // It is on its way. What has not come after that time does not come, and has to be read.
        if (!(await flow.waitForChange(pollMs))) return
        continue
      }
      const isNew = comparePositions(end, told) > 0
      const waitMs = isNew ? lookedAt + HEAD_READ_INTERVAL_MS - performance.now() : pollMs
      if (waitMs > 0 && (await flow.waitForChange(waitMs))) continue
      lookedAt = performance.now()
      const found = await reader.head(this.#stopping)
      if (isNew || comparePositions(end, found) < 0) head = found
    }
  }

  /** Following ended from outside. */
  #endSubscription(flow: LiveEventBuffer, cause: Error): void {
    // Whoever left it himself is told that it was cancelled.
    if (flow.hasEnded) return
    flow.stop()
    if (!isConsumerTooSlow(cause)) this.#notifyInterrupted(storeErrorFromGrpc(cause))
  }

  async #deliver(events: readonly StoredEvent[]): Promise<void> {
    if (events.length === 0 || this.#stopping.aborted) return
    try {
      await this.#subscriber.onEvents(events)
    } catch (cause) {
      throw new SubscriberFault("the subscriber threw", { cause })
    }
  }

  async #notifyCaughtUp(head: Position): Promise<void> {
    this.#isLost = false
    try {
      await this.#subscriber.onCaughtUp?.(head)
    } catch (cause) {
      throw new SubscriberFault("the subscriber threw", { cause })
    }
  }

  #notifyInterrupted(cause: Error): void {
    if (this.#isLost || this.#stopping.aborted) return
    this.#isLost = true
    this.#subscriber.onInterrupted?.(cause)
  }

  #isWanted(stream: string): boolean {
    return this.#prefixes?.some((prefix) => stream.startsWith(prefix)) ?? true
  }
}

/** When more than this waits for the subscriber, he is behind and has to read. */
const MAX_WAITING_EVENTS = 2_000
const MAX_WAITING_CHARACTERS = 4 * 1024 * 1024

/** A batch for the subscriber has at most so many events. */
const BATCH_EVENTS = 1_000

/** Events in order, perhaps none, and the place that they reach to. */
interface EventBatch {
  readonly events: readonly StoredEvent[]
  readonly end: Position
}

/**
 * What a subscription of the server sends, until it ends: all events that are not the server's own. It
 * keeps those that are wanted and the place of the newest, so that the subscriber hears of those he
 * leaves out. It never pauses the call, for the server drops whom it takes for too slow: it ends when
 * too much waits.
 */
class LiveEventBuffer {
  readonly #isWanted: (event: StoredEvent) => boolean
  readonly #changed = new ChangeSignal()
  #waiting: StoredEvent[] = []
  #characters = 0
  #receivedUpTo: Position
  #hasEnded = false
  /** Called once when it is over. */
  onEnd: () => void = () => undefined

  /** It begins strictly after a place, of which the subscriber knows. */
  constructor(after: Position, isWanted: (event: StoredEvent) => boolean) {
    this.#receivedUpTo = after
    this.#isWanted = isWanted
  }

  /** Whether nothing more comes. */
  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /** Whether more came than what reaches to this place. */
  hasEventsAfter(place: Position): boolean {
    return this.#waiting.length > 0 || comparePositions(this.#receivedUpTo, place) > 0
  }

  /** Takes a message of the server. */
  receive(message: ReadResp): void {
    const record = message.getEvent()?.getEvent()
    if (record === undefined || this.#hasEnded) return
    const event = toStoredEvent(record)
    if (comparePositions(event.position, this.#receivedUpTo) <= 0) return
    this.#receivedUpTo = event.position
    if (this.#isWanted(event)) {
      this.#waiting.push(event)
      this.#characters += event.data.length + event.metadata.length
    }
    const isTooMuch =
      this.#waiting.length > MAX_WAITING_EVENTS || this.#characters > MAX_WAITING_CHARACTERS
    if (isTooMuch) this.stop()
    else this.#changed.notifyAll()
  }

  /** Ends it; what waits is dropped. */
  stop(): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#waiting = []
    this.onEnd()
    this.#changed.notifyAll()
  }

  /** Waits for news, and for no longer than so many milliseconds; answers whether there is any. */
  async waitForChange(withinMs: number): Promise<boolean> {
    const bored = new AbortController()
    const timer = setTimeout(() => bored.abort(), withinMs)
    await this.#changed.wait(bored.signal)
    clearTimeout(timer)
    return !bored.signal.aborted
  }

  /** Takes what waits for the subscriber, up to a batch. */
  takeBatch(): EventBatch {
    const events = this.#waiting.slice(0, BATCH_EVENTS)
    this.#waiting = this.#waiting.slice(BATCH_EVENTS)
    if (this.#waiting.length === 0) this.#characters = 0
    const last = events.at(-1)
    const end =
      last === undefined || this.#waiting.length === 0 ? this.#receivedUpTo : last.position
    return { events, end }
  }
}
