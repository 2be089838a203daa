import { randomUUID } from "node:crypto"
import { setImmediate as nextTurn } from "node:timers/promises"

import { status as Code } from "@grpc/grpc-js"

import type { EventLog, LogRecord } from "./log.ts"
import { caughtUp, checkpoint, confirmation, eventMessage, refusalOf } from "./messages.ts"
import { drained, type Filter, filterOf, isOver, type ReadCall } from "./reading.ts"

/** So many events wait for a subscriber who is live; with one more he is too slow. */
const LIVE_BUFFER_EVENTS = 32

/** What a server does with a subscriber who is too slow: drop him, or let him read again. */
type WhenTooSlow = "drop" | "catch-up"

/** The ways of the server that a subscription is on. */
export interface SubscriptionWays {
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
  readonly #ways: SubscriptionWays
  readonly #passes: Filter
  readonly #interval: number
  /** What waits for a subscriber who is live: events, and places that were looked at without one. */
  #live: (LogRecord | bigint)[] | null = null
  #sent: bigint
  #considered = 0
  #wake: () => void = () => undefined

  constructor(call: ReadCall, log: EventLog, ways: SubscriptionWays) {
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
      refusalOf(
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
