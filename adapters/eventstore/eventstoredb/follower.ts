import type { ReadResp } from "@eventstore/db-client/generated/streams_pb.js"

import { pause } from "../waiting.ts"
import {
  comparePositions,
  type Position,
  type ReadAllRange,
  START,
  type StoredEvent,
  type Subscriber,
} from "../port.ts"
import type { Connection } from "./connection.ts"
import { isTooSlow, refusal } from "./failures.ts"
import { LiveFlow } from "./live-flow.ts"
import { followRequest } from "./read-requests.ts"
import type { Reader } from "./reader.ts"
import type { Node } from "./node.ts"

const FIRST_PAUSE_MS = 50
const LONGEST_PAUSE_MS = 2_000

/** The server is asked for its head at most this often. */
const LOOK_INTERVAL_MS = 10

/** Where a follower gets its events from. */
export interface Source {
  readonly connection: Connection
  readonly reader: Reader
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
export class Follower {
  readonly #source: Source
  readonly #prefixes: readonly string[] | undefined
  readonly #subscriber: Subscriber
  readonly #stopping: AbortSignal
  /** Everything up to here was handed over, or is not wanted. */
  #handled: Position
  #isLost = false

  constructor(
    source: Source,
    range: Pick<ReadAllRange, "after" | "prefixes">,
    subscriber: Subscriber,
    stopping: AbortSignal,
  ) {
    this.#source = source
    this.#prefixes = range.prefixes
    this.#subscriber = subscriber
    this.#stopping = stopping
    this.#handled = range.after ?? START
  }

  /** Runs until it is stopped, or until the subscriber throws, and then throws the same. */
  async run(): Promise<void> {
    for (let failures = 0; !this.#stopping.aborted;) {
      const before = this.#handled
      try {
        await this.#read()
        await this.#follow()
      } catch (error) {
        if (error instanceof SubscriberFault) throw error.cause
        this.#lose(refusal(error))
      }
      const gotOn = comparePositions(this.#handled, before) > 0
      failures = gotOn ? 0 : failures + 1
      if (gotOn && !this.#isLost) continue
      await pause(Math.min(FIRST_PAUSE_MS * 2 ** failures, LONGEST_PAUSE_MS), this.#stopping)
    }
  }

  /** Reads up to the head. @throws Unavailable, AccessDenied, SubscriberFault */
  async #read(): Promise<void> {
    const { reader } = this.#source
    const [after, prefixes, signal] = [this.#handled, this.#prefixes, this.#stopping]
    const upTo = await reader.head(signal)
    for await (const page of reader.all({ after, upTo, prefixes, signal })) {
      await this.#hand(page)
      this.#handled = page.at(-1)?.position ?? this.#handled
      if (signal.aborted) return
    }
    if (signal.aborted) return
    this.#handled = upTo
    await this.#reach(upTo)
  }

  /** Follows from there, until that ends. @throws Unavailable, AccessDenied, SubscriberFault */
  async #follow(): Promise<void> {
    const { session } = this.#source.connection
    const flow = new LiveFlow(this.#handled, ({ stream }) => this.#isWanted(stream))
    const leave = (): void => flow.leave()
    const ends = [this.#stopping, session.retired]
    for (const signal of ends) signal.addEventListener("abort", leave)
    if (this.#stopping.aborted) leave()
    try {
      const { call, node } = await session.call((grpc, ...parameters) => {
        const begun = grpc.read(followRequest(this.#handled), ...parameters)
        begun.on("data", (message: ReadResp) => flow.take(message))
        begun.on("error", (cause: Error) => this.#end(flow, cause))
        begun.on("end", leave)
        return begun
      })
      flow.onOver = () => call.cancel()
      if (flow.isOver) call.cancel()
      await this.#handOver(flow, node)
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
  async #handOver(flow: LiveFlow, node: Node): Promise<void> {
    const { reader, pollMs } = this.#source
    let told = this.#handled
    let head: Position | null = null
    let lookedAt = 0
    while (!flow.isOver) {
      const { events, end } = flow.next()
      node.saw(end, events)
      await this.#hand(events)
      this.#handled = end
      if (head !== null && comparePositions(end, head) >= 0) {
        await this.#reach(head)
        told = head
        head = null
      }
      if (flow.isPast(end)) continue
      if (head !== null) {
        // It is on its way. What has not come after that time does not come, and has to be read.
        if (!(await flow.news(pollMs))) return
        continue
      }
      const isNew = comparePositions(end, told) > 0
      const waitMs = isNew ? lookedAt + LOOK_INTERVAL_MS - performance.now() : pollMs
      if (waitMs > 0 && (await flow.news(waitMs))) continue
      lookedAt = performance.now()
      const found = await reader.head(this.#stopping)
      if (isNew || comparePositions(end, found) < 0) head = found
    }
  }

  /** Following ended from outside. */
  #end(flow: LiveFlow, cause: Error): void {
    // Whoever left it himself is told that it was cancelled.
    if (flow.isOver) return
    flow.leave()
    if (!isTooSlow(cause)) this.#lose(refusal(cause))
  }

  async #hand(events: readonly StoredEvent[]): Promise<void> {
    if (events.length === 0 || this.#stopping.aborted) return
    try {
      await this.#subscriber.onEvents(events)
    } catch (cause) {
      throw new SubscriberFault("the subscriber threw", { cause })
    }
  }

  async #reach(head: Position): Promise<void> {
    this.#isLost = false
    try {
      await this.#subscriber.onCaughtUp?.(head)
    } catch (cause) {
      throw new SubscriberFault("the subscriber threw", { cause })
    }
  }

  #lose(cause: Error): void {
    if (this.#isLost || this.#stopping.aborted) return
    this.#isLost = true
    this.#subscriber.onInterrupted?.(cause)
  }

  #isWanted(stream: string): boolean {
    return this.#prefixes?.some((prefix) => stream.startsWith(prefix)) ?? true
  }
}
