import type { ReadResp } from "@eventstore/db-client/generated/streams_pb.js"
import { pause, ChangeSignal } from "../follow.ts"
import type { Position, ReadAllRange, StoredEvent, Subscriber } from "../port.ts"
import { comparePositions, START } from "../port.ts"
import type { EventStoreDbConnection } from "./connection.ts"
import { isConsumerTooSlow, storeErrorFromGrpc } from "./session.ts"
import { subscriptionRequest, toStoredEvent } from "./read-requests.ts"
import type { EventStoreDbReader } from "./reader.ts"
import type { ClusterNode } from "./cluster-node.ts"

const FIRST_BACKOFF_MS = 50
const MAX_BACKOFF_MS = 2_000

const HEAD_READ_INTERVAL_MS = 10

export interface CatchUpSource {
  readonly connection: EventStoreDbConnection
  readonly reader: EventStoreDbReader
  /** The head is read after this many milliseconds without events. */
  readonly pollMs: number
}

/** Carries the subscriber's error past the handlers of store errors. */
class SubscriberFault extends Error {
  override readonly name = "SubscriberFault"
}

/**
 * Delivers events until stopped, alternating between two modes. It reads up to the head with the
 * filter on the server; then it subscribes to all streams except the server's own, so that it
 * always knows the head. When the subscription ends it reads again from the last handled position:
 * immediately if the subscriber was too slow, after a pause if the store was lost.
 */
export class CatchUpSubscription {
  readonly #source: CatchUpSource
  readonly #prefixes: readonly string[] | undefined
  readonly #subscriber: Subscriber
  readonly #stopping: AbortSignal
  /** Everything up to here was delivered or does not match. */
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

  /** Runs until stopped. Throws the subscriber's error. */
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
      const hasAdvanced = comparePositions(this.#deliveredUpTo, before) > 0
      failures = hasAdvanced ? 0 : failures + 1
      if (hasAdvanced && !this.#isLost) continue
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

  /** Subscribes after the delivered position. @throws Unavailable, AccessDenied, SubscriberFault */
  async #subscribe(): Promise<void> {
    const { session } = this.#source.connection
    const buffer = new LiveEventBuffer(this.#deliveredUpTo, ({ stream }) => this.#isWanted(stream))
    const stopBuffer = (): void => buffer.stop()
    const ends = [this.#stopping, session.retired]
    for (const signal of ends) signal.addEventListener("abort", stopBuffer)
    if (this.#stopping.aborted) stopBuffer()
    try {
      const { call, node } = await session.call((grpc, ...parameters) => {
        const stream = grpc.read(subscriptionRequest(this.#deliveredUpTo), ...parameters)
        stream.on("data", (message: ReadResp) => buffer.receive(message))
        stream.on("error", (cause: Error) => this.#endSubscription(buffer, cause))
        stream.on("end", stopBuffer)
        return stream
      })
      buffer.onEnd = () => call.cancel()
      if (buffer.hasEnded) call.cancel()
      await this.#deliverLive(buffer, node)
    } finally {
      stopBuffer()
      for (const signal of ends) signal.removeEventListener("abort", stopBuffer)
    }
  }

  /**
   * Delivers live events. Only the server knows the head: it is read after everything was
   * delivered, at most every `HEAD_READ_INTERVAL_MS`, and when no events arrive.
   *
   * @throws Unavailable, AccessDenied, SubscriberFault
   */
  async #deliverLive(buffer: LiveEventBuffer, node: ClusterNode): Promise<void> {
    const { reader, pollMs } = this.#source
    let notifiedUpTo = this.#deliveredUpTo
    let head: Position | null = null
    let headReadAt = 0
    while (!buffer.hasEnded) {
      const { events, end } = buffer.takeBatch()
      node.noteSeen(end, events)
      await this.#deliver(events)
      this.#deliveredUpTo = end
      if (head !== null && comparePositions(end, head) >= 0) {
        await this.#notifyCaughtUp(head)
        notifiedUpTo = head
        head = null
      }
      if (buffer.hasEventsAfter(end)) continue
      if (head !== null) {
        // Events up to the head are in transit. If none arrives in time they were lost: read them again.
        if (!(await buffer.waitForChange(pollMs))) return
        continue
      }
      const hasAdvanced = comparePositions(end, notifiedUpTo) > 0
      const waitMs = hasAdvanced ? headReadAt + HEAD_READ_INTERVAL_MS - performance.now() : pollMs
      if (waitMs > 0 && (await buffer.waitForChange(waitMs))) continue
      headReadAt = performance.now()
      const newHead = await reader.head(this.#stopping)
      if (hasAdvanced || comparePositions(end, newHead) < 0) head = newHead
    }
  }

  #endSubscription(buffer: LiveEventBuffer, cause: Error): void {
    // The error reports our own cancellation.
    if (buffer.hasEnded) return
    buffer.stop()
    if (!isConsumerTooSlow(cause)) this.#notifyInterrupted(storeErrorFromGrpc(cause))
  }

  async #deliver(events: readonly StoredEvent[]): Promise<void> {
    if (events.length === 0 || this.#stopping.aborted) return
    try {
      await this.#subscriber.onEvents(events)
    } catch (cause) {
      throw new SubscriberFault("The subscriber threw an error", { cause })
    }
  }

  async #notifyCaughtUp(head: Position): Promise<void> {
    this.#isLost = false
    try {
      await this.#subscriber.onCaughtUp?.(head)
    } catch (cause) {
      throw new SubscriberFault("The subscriber threw an error", { cause })
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

const MAX_WAITING_EVENTS = 2_000
const MAX_WAITING_CHARACTERS = 4 * 1024 * 1024

const BATCH_EVENTS = 1_000

interface EventBatch {
  readonly events: readonly StoredEvent[]
  readonly end: Position
}

/**
 * Buffers the events of a server subscription until it ends: matching events, and the position of
 * the newest, so that the subscriber also advances over others. It never pauses the call, because
 * the server drops slow consumers; it ends when too many events wait.
 */
class LiveEventBuffer {
  readonly #isWanted: (event: StoredEvent) => boolean
  readonly #changed = new ChangeSignal()
  #waiting: StoredEvent[] = []
  #characters = 0
  #receivedUpTo: Position
  #hasEnded = false
  onEnd: () => void = () => undefined

  /** Starts after a position that the subscriber has handled. */
  constructor(after: Position, isWanted: (event: StoredEvent) => boolean) {
    this.#receivedUpTo = after
    this.#isWanted = isWanted
  }

  get hasEnded(): boolean {
    return this.#hasEnded
  }

  hasEventsAfter(position: Position): boolean {
    return this.#waiting.length > 0 || comparePositions(this.#receivedUpTo, position) > 0
  }

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

  stop(): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#waiting = []
    this.onEnd()
    this.#changed.notifyAll()
  }

  /** Waits for a change, at most `withinMs` milliseconds; returns whether there was one. */
  async waitForChange(withinMs: number): Promise<boolean> {
    const timeout = new AbortController()
    const timer = setTimeout(() => timeout.abort(), withinMs)
    await this.#changed.wait(timeout.signal)
    clearTimeout(timer)
    return !timeout.signal.aborted
  }

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
