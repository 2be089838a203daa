/**
 * Following what other processes write: the positions in the table are looked at quickly while
 * somebody waits here for a read model that is kept up elsewhere, and once a second otherwise.
 *
 * It is a poll of one small table by whoever waits. A notification from each writer's transaction
 * would make its commits wait for one another, and for the flushes of the event store's.
 */
import type { Pool } from "pg"
import type { Pacer } from "../../machine/clock/port.ts"
import type { ReadModelUpdater } from "./updater.ts"
import { readStoredProjections } from "./tables.ts"

const FAST_POLL_MS = 4
const MAX_FAST_POLL_MS = 100
const SLOW_POLL_MS = 1_000

/** What following works with. */
export interface PositionPollerPorts {
  readonly pool: Pool
  readonly pacer: Pacer
  readonly warn: (message: string, error: unknown) => void
}

/** Follows the stored positions until it is stopped. */
export class PositionPoller {
  readonly #ports: PositionPollerPorts
  readonly #updaters: readonly ReadModelUpdater[]
  readonly #stopping = new AbortController()
  #pausing = new AbortController()
  #pauseMs = SLOW_POLL_MS
  readonly #running: Promise<void>

  constructor(ports: PositionPollerPorts, updaters: readonly ReadModelUpdater[]) {
    this.#ports = ports
    this.#updaters = updaters
    this.#running = this.#run()
  }

  /** Somebody began to wait. */
  pollFast(): void {
    this.#pauseMs = FAST_POLL_MS
    this.#pausing.abort()
  }

  /** Stops, and waits for what is being looked at. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    this.#pausing.abort()
    await this.#running
  }

  async #run(): Promise<void> {
    let isLost = false
    while (!this.#stopping.signal.aborted) {
      this.#pausing = new AbortController()
      try {
        await this.#poll()
        isLost = false
      } catch (error) {
        if (!isLost) this.#ports.warn("where the read models stand cannot be looked at", error)
        isLost = true
      }
      await this.#pause()
    }
  }

  async #poll(): Promise<void> {
    const rows = new Map(
      (await readStoredProjections(this.#ports.pool)).map((row) => [row.name, row]),
    )
    for (const updater of this.#updaters) {
      const row = rows.get(updater.projection.name)
      if (row !== undefined) updater.noteStored(row)
    }
  }

  async #pause(): Promise<void> {
    const isAwaited = this.#updaters.some(
      (updater) => !updater.isActive && !updater.waiters.isEmpty,
    )
    const restMs = isAwaited ? this.#pauseMs : SLOW_POLL_MS
    this.#pauseMs = Math.min(1.5 * this.#pauseMs, MAX_FAST_POLL_MS)
    if (this.#stopping.signal.aborted) return
    await this.#ports.pacer.pause(restMs, this.#pausing.signal)
  }
}
