import type { Pacer } from "../../clock/port.ts"

/**
 * Facts that come without a break are gathered until the next beat, so that many of them share one
 * transaction. The beat is the same for all read models: their batches begin together.
 */
const BEAT_MS = 100

/** The next beat of a process, which all who rest wait for together. */
export class Beat {
  readonly #pacer: Pacer
  #next: { readonly atMs: number; readonly reached: Promise<void> } | null = null

  constructor(pacer: Pacer) {
    this.#pacer = pacer
  }

  /** When the first beat after a moment is. */
  static after(ms: number): number {
    return (Math.floor(ms / BEAT_MS) + 1) * BEAT_MS
  }

  /** Resolves at a beat. */
  reached(atMs: number): Promise<void> {
    if (this.#next?.atMs !== atMs) {
      const leftMs = atMs - this.#pacer.elapsedMs()
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

  constructor(pacer: Pacer, beat: Beat = new Beat(pacer)) {
    this.#pacer = pacer
    this.#beat = beat
  }

  /** How long it still is, in milliseconds; 0 where it is over. */
  get leftMs(): number {
    return Math.max(0, this.#until - this.#pacer.elapsedMs())
  }

  /** A batch begins. */
  begin(): void {
    this.#until = Beat.after(this.#pacer.elapsedMs())
  }

  /** Resolves when it is over, or cut short. */
  async take(): Promise<void> {
    this.#cut = Promise.withResolvers()
    await Promise.race([this.#beat.reached(this.#until), this.#cut.promise])
    this.#cut = null
  }

  /** Whoever rests goes on at once. */
  cutShort(): void {
    this.#cut?.resolve()
  }
}
