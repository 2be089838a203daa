import type { Pacer } from "../../clock/port.ts"

/**
 * A batch follows the one before it after so long, so that many facts share one transaction where they
 * come without a break.
 */
const REST_MS = 100

/** The rest between two batches. */
export class Rest {
  readonly #pacer: Pacer
  #since = -Infinity
  #resting: AbortController | null = null

  constructor(pacer: Pacer) {
    this.#pacer = pacer
  }

  /** How long it still is, in milliseconds; 0 where it is over. */
  get leftMs(): number {
    return Math.max(0, this.#since + REST_MS - this.#pacer.elapsedMs())
  }

  /** A batch begins. */
  begin(): void {
    this.#since = this.#pacer.elapsedMs()
  }

  /** Resolves when it is over, or cut short. */
  async take(): Promise<void> {
    this.#resting = new AbortController()
    await this.#pacer.pause(this.leftMs, this.#resting.signal)
    this.#resting = null
  }

  /** Whoever rests goes on at once. */
  cutShort(): void {
    this.#resting?.abort()
  }
}
