import { pause } from "../follow.ts"
import { StaleStore } from "../port.ts"
import { KnownPositions } from "./cluster-node.ts"
import { parseConnectionString } from "./connection-string.ts"
import type { EventStoreDbAddress } from "./connection-string.ts"
import { EventStoreDbSession } from "./session.ts"

/**
 * How long the first reconnect after a silent node may take, and by which factor each further one
 * grows: the cluster may name the silent node as leader until it elects another.
 */
const RECONNECT_TIMEOUT_MS = 1_000
const RECONNECT_TIMEOUT_GROWTH = 1.5

interface ConnectionOptions {
  readonly url: string
  readonly connectTimeoutMs: number
  readonly staleAfterMs: number
  readonly isOwnStream: (stream: string) => boolean
}

/** Owns one session at a time, and opens another one when the server stops answering it. */
export class EventStoreDbConnection {
  readonly knownPositions: KnownPositions
  readonly #staleStore: StaleStoreMonitor
  readonly #address: EventStoreDbAddress
  readonly #connectTimeoutMs: number
  readonly #sessions = new Set<EventStoreDbSession>()
  #failedSessions = 0
  #session: EventStoreDbSession

  /**
   * Does not connect yet. `connectTimeoutMs` bounds the search for a server.
   *
   * @throws RangeError if the connection string is invalid
   */
  constructor({ url, connectTimeoutMs, staleAfterMs, isOwnStream }: ConnectionOptions) {
    this.#address = parseConnectionString(url)
    this.#connectTimeoutMs = connectTimeoutMs
    this.knownPositions = new KnownPositions(isOwnStream)
    this.#staleStore = new StaleStoreMonitor(staleAfterMs, () =>
      this.#current.readEnd(connectTimeoutMs),
    )
    this.#session = this.#open(null)
  }

  /** The session for new calls. @throws StaleStore if the store is known to be stale */
  get session(): EventStoreDbSession {
    this.#staleStore.requireCurrent()
    return this.#current
  }

  get #current(): EventStoreDbSession {
    if (this.#session.retired.aborted) {
      this.#failedSessions += 1
      this.#session = this.#open(this.#session.host)
    }
    return this.#session
  }

  close(): void {
    this.#staleStore.close()
    for (const session of this.#sessions) session.dispose()
  }

  #open(avoidedHost: string | null): EventStoreDbSession {
    const reconnectMs =
      RECONNECT_TIMEOUT_MS * RECONNECT_TIMEOUT_GROWTH ** (this.#failedSessions - 1)
    const session: EventStoreDbSession = new EventStoreDbSession({
      address: this.#address,
      avoidedHost,
      connectTimeoutMs:
        this.#failedSessions === 0
          ? this.#connectTimeoutMs
          : Math.min(reconnectMs, this.#connectTimeoutMs),
      knownPositions: this.knownPositions,
      onVerified: () => {
        if (session !== this.#session || session.retired.aborted) return
        this.#failedSessions = 0
        this.#staleStore.markCurrent()
      },
      onStale: (why) => this.#staleStore.markStale(why),
      onDisposed: (disposed) => void this.#sessions.delete(disposed),
    })
    this.#sessions.add(session)
    return session
  }
}

/**
 * How long the store must be an older copy until calls fail immediately: a frozen leader that
 * resumes answers with old data for less than a second.
 */
export const STALE_AFTER_MS = 2_000

const PROBE_INTERVAL_MS = 500

class StaleStoreMonitor {
  readonly #afterMs: number
  readonly #probe: () => Promise<unknown>
  readonly #closing = new AbortController()
  #stale: { readonly at: number; why: string } | null = null

  /** `probe` sends a request; `markStale` or `markCurrent` receives its outcome. */
  constructor(afterMs: number, probe: () => Promise<unknown>) {
    this.#afterMs = afterMs
    this.#probe = probe
  }

  markStale(why: string): void {
    if (this.#stale !== null) {
      this.#stale.why = why
      return
    }
    this.#stale = { at: performance.now(), why }
    void this.#probeUntilCurrent(this.#stale)
  }

  markCurrent(): void {
    this.#stale = null
  }

  /** Rejects a call that would wait in vain. @throws StaleStore */
  requireCurrent(): void {
    const stale = this.#stale
    if (stale === null || performance.now() - stale.at < this.#afterMs) return
    throw new StaleStore(stale.why)
  }

  close(): void {
    this.#closing.abort()
  }

  async #probeUntilCurrent(stale: object): Promise<void> {
    const { signal } = this.#closing
    while (this.#stale === stale && !signal.aborted) {
      await pause(Math.min(PROBE_INTERVAL_MS, this.#afterMs), signal)
      // An unreachable server tells nothing: the last finding holds.
      if (!signal.aborted) await this.#probe().catch(() => undefined)
    }
  }
}
