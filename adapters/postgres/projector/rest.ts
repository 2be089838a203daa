import type { Pacer } from "../../machine/clock/port.ts"

/** Facts that come without a break are gathered until the next beat, so that many share one transaction. */
export const BEAT_MS = 100

/** The next beat of a process, which all who rest wait for together: their batches begin together. */
export class Beat {
  readonly #pacer: Pacer
  readonly #everyMs: number
  #next: { readonly atMs: number; readonly reached: Promise<void> } | null = null

  constructor(pacer: Pacer, everyMs: number) {
    this.#pacer = pacer
    this.#everyMs = everyMs
  }

  /** When the first beat after a moment is. */
  after(ms: number): number {
    return (Math.floor(ms / this.#everyMs) + 1) * this.#everyMs
  }

  /** Resolves at a beat. */
  reached(atMs: number): Promise<void> {
    if (this.#next?.atMs !== atMs) {
      const leftMs = Math.max(0, atMs - this.#pacer.elapsedMs())
      this.#next = { atMs, reached: this.#pacer.pause(leftMs) }
    }
    return this.#next.reached
  }
}

/** The rest between two batches of a read model: until the first beat after the former began. */
export class Rest {
  readonly #pacer: Pacer
  readonly #beat: Beat
  #until = -Infinity
  #cut: PromiseWithResolvers<void> | null = null

  constructor(pacer: Pacer, beat: Beat) {
    this.#pacer = pacer
    this.#beat = beat
  }

  /** How long it still is, in milliseconds; 0 where it is over. */
  get leftMs(): number {
    return Math.max(0, this.#until - this.#pacer.elapsedMs())
  }

  /** A batch begins. */
  begin(): void {
    this.#until = this.#beat.after(this.#pacer.elapsedMs())
  }

  /** Resolves when it is over, or cut short. A timer may be early by a moment: it is over all the same. */
  async take(): Promise<void> {
    this.#cut = Promise.withResolvers()
    await Promise.race([this.#beat.reached(this.#until), this.#cut.promise])
    this.#cut = null
    this.#until = -Infinity
  }

  /** Whoever rests goes on at once. */
  cutShort(): void {
    this.#cut?.resolve()
  }
}
