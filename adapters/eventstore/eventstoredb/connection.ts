import { pause } from "../follow.ts"
import { StaleStore } from "../port.ts"
import { KnownPositions } from "./cluster-node.ts"
import { parseConnectionString } from "./connection-string.ts"
import type { EventStoreDbAddress } from "./connection-string.ts"
import { EventStoreDbSession } from "./session.ts"

/**
 * How long the first node after one that fell silent may take to answer, and how much longer each
 * further one: the cluster may go on naming the silent one for as long as it takes to elect another.
 */
const RECONNECT_TIMEOUT_MS = 1_000
const RECONNECT_TIMEOUT_GROWTH = 1.5

/** How a connection is made. */
interface ConnectionOptions {
  readonly url: string
  readonly connectTimeoutMs: number
  /** Calls are refused at once when the store was an older copy for so long, milliseconds. */
  readonly staleAfterMs: number
  /** Whether streams of this name prove which store it is. */
  readonly isOwnStream: (stream: string) => boolean
}

/** Has one client at a time, and another one when the server does not answer that one any more. */
export class EventStoreDbConnection {
  /** What was seen of the server's order over all of its clients. */
  readonly knownPositions: KnownPositions
  readonly #staleStore: StaleStoreMonitor
  readonly #address: EventStoreDbAddress
  readonly #connectTimeoutMs: number
  readonly #sessions = new Set<EventStoreDbSession>()
  /** So many clients in a row got no answer. */
  #failedSessions = 0
  #session: EventStoreDbSession

  /**
   * Does not connect yet. `connectTimeoutMs` bounds how long a server may take to be found.
   *
   * @throws RangeError when the connection string is wrong
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

  /** The client to make new calls with. @throws StaleStore where what answers is known to be one */
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

  /** Breaks off what is under way and disconnects. */
  close(): void {
    this.#staleStore.close()
    for (const session of this.#sessions) session.dispose()
  }

  #open(avoidedHost: string | null): EventStoreDbSession {
    const doubtfulMs = RECONNECT_TIMEOUT_MS * RECONNECT_TIMEOUT_GROWTH ** (this.#failedSessions - 1)
    const session: EventStoreDbSession = new EventStoreDbSession({
      address: this.#address,
      avoidedHost,
      connectTimeoutMs:
        this.#failedSessions === 0
          ? this.#connectTimeoutMs
          : Math.min(doubtfulMs, this.#connectTimeoutMs),
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
 * How long what answers must have been an older copy until callers are refused at once: an old leader that
 * thaws shows less than was seen before for less than a second.
 */
export const STALE_AFTER_MS = 2_000

/** While it is one it is asked so often whether the right store is back. */
const PROBE_INTERVAL_MS = 500

/** What is known of a store that turned out to be an older copy, or another one. */
class StaleStoreMonitor {
  readonly #afterMs: number
  readonly #probe: () => Promise<unknown>
  readonly #closing = new AbortController()
  #stale: { readonly at: number; why: string } | null = null

  /** `ask` asks whatever answers by now; its outcome is told to `found` or `gone`. */
  constructor(afterMs: number, ask: () => Promise<unknown>) {
    this.#afterMs = afterMs
    this.#probe = ask
  }

  /** It turned out to be one. */
  markStale(why: string): void {
    if (this.#stale !== null) {
      this.#stale.why = why
      return
    }
    this.#stale = { at: performance.now(), why }
    void this.#probeUntilCurrent(this.#stale)
  }

  /** The store answered, with all that was seen before. */
  markCurrent(): void {
    this.#stale = null
  }

  /** Refuses a call that would only wait. @throws StaleStore */
  requireCurrent(): void {
    const found = this.#stale
    if (found === null || performance.now() - found.at < this.#afterMs) return
    throw new StaleStore(found.why)
  }

  /** Ends asking. */
  close(): void {
    this.#closing.abort()
  }

  async #probeUntilCurrent(found: object): Promise<void> {
    const { signal } = this.#closing
    while (this.#stale === found && !signal.aborted) {
      await pause(Math.min(PROBE_INTERVAL_MS, this.#afterMs), signal)
      // A server that is away tells nothing: what was found of it last holds.
      if (!signal.aborted) await this.#probe().catch(() => undefined)
    }
  }
}
