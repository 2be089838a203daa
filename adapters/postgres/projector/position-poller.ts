/**
 * Polls the positions of read models that other processes write: fast while a caller waits for one,
 * otherwise once a second.
 *
 * It polls a small table, because a notification in each writer's transaction would make commits
 * wait for one another and for the event store's flushes.
 */
import type { Pool } from "pg"
import type { Pacer } from "../../machine/clock/port.ts"
import type { ReadModelUpdater } from "./updater.ts"
import { readStoredProjections } from "./tables.ts"

const FAST_POLL_MS = 4
const MAX_FAST_POLL_MS = 100
const SLOW_POLL_MS = 1_000

export interface PositionPollerPorts {
  readonly pool: Pool
  readonly pacer: Pacer
  readonly warn: (message: string, error: unknown) => void
}

/** Polls the stored positions until stopped. */
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

  pollFast(): void {
    this.#pauseMs = FAST_POLL_MS
    this.#pausing.abort()
  }

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
        if (!isLost) this.#ports.warn("the positions of the read models could not be read", error)
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
    const hasWaiters = this.#updaters.some(
      (updater) => !updater.isActive && !updater.waiters.isEmpty,
    )
    const pauseMs = hasWaiters ? this.#pauseMs : SLOW_POLL_MS
    this.#pauseMs = Math.min(1.5 * this.#pauseMs, MAX_FAST_POLL_MS)
    if (this.#stopping.signal.aborted) return
    await this.#ports.pacer.pause(pauseMs, this.#pausing.signal)
  }
}
