import { pause } from "../follow.ts"
import { OlderStore } from "../port.ts"
import { KnownPlaces } from "./node.ts"
import { addressIn } from "./connection-string.ts"
import type { Address } from "./connection-string.ts"
import { Session } from "./session.ts"

/**
 * How long the first node after one that fell silent may take to answer, and how much longer each
 * further one: the cluster may go on naming the silent one for as long as it takes to elect another.
 */
const DOUBTFUL_CONNECT_MS = 1_000
const DOUBTFUL_GROWTH = 1.5

/** How a connection is made. */
interface ConnectionOptions {
  readonly url: string
  readonly connectTimeoutMs: number
  /** Calls are refused at once when the store was an older copy for so long, milliseconds. */
  readonly olderAfterMs: number
  /** Whether streams of this name prove which store it is. */
  readonly proves: (stream: string) => boolean
}

/** Has one client at a time, and another one when the server does not answer that one any more. */
export class Connection {
  /** What was seen of the server's order over all of its clients. */
  readonly known: KnownPlaces
  readonly #older: OlderCopy
  readonly #address: Address
  readonly #connectTimeoutMs: number
  readonly #sessions = new Set<Session>()
  /** So many clients in a row got no answer. */
  #silences = 0
  #session: Session

  /**
   * Does not connect yet. `connectTimeoutMs` bounds how long a server may take to be found.
   *
   * @throws RangeError when the connection string is wrong
   */
  constructor({ url, connectTimeoutMs, olderAfterMs, proves }: ConnectionOptions) {
    this.#address = addressIn(url)
    this.#connectTimeoutMs = connectTimeoutMs
    this.known = new KnownPlaces(proves)
    this.#older = new OlderCopy(olderAfterMs, () => this.#current.end(connectTimeoutMs))
    this.#session = this.#open(null)
  }

  /** The client to make new calls with. @throws OlderStore where what answers is known to be one */
  get session(): Session {
    this.#older.check()
    return this.#current
  }

  get #current(): Session {
    if (this.#session.retired.aborted) {
      this.#silences += 1
      this.#session = this.#open(this.#session.host)
    }
    return this.#session
  }

  /** Breaks off what is under way and disconnects. */
  close(): void {
    this.#older.close()
    for (const session of this.#sessions) session.dispose()
  }

  #open(avoid: string | null): Session {
    const doubtfulMs = DOUBTFUL_CONNECT_MS * DOUBTFUL_GROWTH ** (this.#silences - 1)
    const session: Session = new Session({
      address: this.#address,
      avoid,
      connectTimeoutMs:
        this.#silences === 0
          ? this.#connectTimeoutMs
          : Math.min(doubtfulMs, this.#connectTimeoutMs),
      known: this.known,
      onReached: () => {
        if (session !== this.#session || session.retired.aborted) return
        this.#silences = 0
        this.#older.gone()
      },
      onBehind: (why) => this.#older.found(why),
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
export const OLDER_AFTER_MS = 2_000

/** While it is one it is asked so often whether the right store is back. */
const ASK_MS = 500

/** What is known of a store that turned out to be an older copy, or another one. */
class OlderCopy {
  readonly #afterMs: number
  readonly #ask: () => Promise<unknown>
  readonly #closing = new AbortController()
  #found: { readonly at: number; why: string } | null = null

  /** `ask` asks whatever answers by now; its outcome is told to `found` or `gone`. */
  constructor(afterMs: number, ask: () => Promise<unknown>) {
    this.#afterMs = afterMs
    this.#ask = ask
  }

  /** It turned out to be one. */
  found(why: string): void {
    if (this.#found !== null) {
      this.#found.why = why
      return
    }
    this.#found = { at: performance.now(), why }
    void this.#askUntilGone(this.#found)
  }

  /** The store answered, with all that was seen before. */
  gone(): void {
    this.#found = null
  }

  /** Refuses a call that would only wait. @throws OlderStore */
  check(): void {
    const found = this.#found
    if (found === null || performance.now() - found.at < this.#afterMs) return
    throw new OlderStore(found.why)
  }

  /** Ends asking. */
  close(): void {
    this.#closing.abort()
  }

  async #askUntilGone(found: object): Promise<void> {
    const { signal } = this.#closing
    while (this.#found === found && !signal.aborted) {
      await pause(Math.min(ASK_MS, this.#afterMs), signal)
      // A server that is away tells nothing: what was found of it last holds.
      if (!signal.aborted) await this.#ask().catch(() => undefined)
    }
  }
}
