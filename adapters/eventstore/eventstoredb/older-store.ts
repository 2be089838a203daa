import { pause } from "../pause.ts"
import { OlderStore } from "../port.ts"

/**
 * How long what answers must have been an older copy until callers are refused at once: an old leader that
 * thaws shows less than was seen before for less than a second.
 */
export const OLDER_AFTER_MS = 2_000

/** While it is one it is asked so often whether the right store is back. */
const ASK_MS = 500

/** What is known of a store that turned out to be an older copy, or another one. */
export class OlderCopy {
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
