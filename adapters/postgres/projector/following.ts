/**
 * Following what other processes write: the positions in the table are looked at quickly while
 * somebody waits here for a read model that is kept up elsewhere, and once a second otherwise.
 *
 * It is a poll of one small table by whoever waits. A notification from each writer's transaction
 * would make its commits wait for one another, and for the flushes of the event store's.
 */
import type { Pool } from "pg"
import type { Pacer } from "../../machine/clock/port.ts"
import type { Updater } from "./updater.ts"
import { storedRows } from "./tables.ts"

const QUICK_MS = 4
const QUICK_MOST_MS = 100
const SLOW_MS = 1_000

/** What following works with. */
export interface FollowerPorts {
  readonly pool: Pool
  readonly pacer: Pacer
  readonly warn: (message: string, error: unknown) => void
}

/** Follows the stored positions until it is stopped. */
export class Follower {
  readonly #ports: FollowerPorts
  readonly #updaters: readonly Updater[]
  readonly #stopping = new AbortController()
  #resting = new AbortController()
  #pauseMs = SLOW_MS
  readonly #running: Promise<void>

  constructor(ports: FollowerPorts, updaters: readonly Updater[]) {
    this.#ports = ports
    this.#updaters = updaters
    this.#running = this.#run()
  }

  /** Somebody began to wait. */
  hurry(): void {
    this.#pauseMs = QUICK_MS
    this.#resting.abort()
  }

  /** Stops, and waits for what is being looked at. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    this.#resting.abort()
    await this.#running
  }

  async #run(): Promise<void> {
    let isLost = false
    while (!this.#stopping.signal.aborted) {
      this.#resting = new AbortController()
      try {
        await this.#look()
        isLost = false
      } catch (error) {
        if (!isLost) this.#ports.warn("where the read models stand cannot be looked at", error)
        isLost = true
      }
      await this.#rest()
    }
  }

  async #look(): Promise<void> {
    const rows = new Map((await storedRows(this.#ports.pool)).map((row) => [row.name, row]))
    for (const updater of this.#updaters) {
      const row = rows.get(updater.projection.name)
      if (row !== undefined) updater.follow(row)
    }
  }

  async #rest(): Promise<void> {
    const isAwaited = this.#updaters.some((updater) => !updater.isHere && !updater.waiters.isEmpty)
    const restMs = isAwaited ? this.#pauseMs : SLOW_MS
    this.#pauseMs = Math.min(1.5 * this.#pauseMs, QUICK_MOST_MS)
    if (this.#stopping.signal.aborted) return
    await this.#ports.pacer.pause(restMs, this.#resting.signal)
  }
}
