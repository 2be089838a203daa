/** Latencies, counted in classes 5 % wide, so that their number takes no memory. */

const MIN_MS = 0.05
const STEP = Math.log(1.05)

/** Counts times and returns their quantiles. */
export class Latencies {
  readonly #classes = new Map<number, number>()
  #count = 0
  #most = 0

  get count(): number {
    return this.#count
  }

  /** The longest time, milliseconds. */
  get max(): number {
    return this.#most
  }

  /** Adds a time in milliseconds. */
  add(ms: number): void {
    const own = Math.max(0, Math.ceil(Math.log(ms / MIN_MS) / STEP))
    this.#classes.set(own, (this.#classes.get(own) ?? 0) + 1)
    this.#count += 1
    this.#most = Math.max(this.#most, ms)
  }

  /** The time within which this share was answered, milliseconds, at most 5 % too long; 0 without times. */
  quantile(share: number): number {
    let seen = 0
    for (const own of [...this.#classes.keys()].toSorted((a, b) => a - b)) {
      seen += this.#classes.get(own) ?? 0
      if (seen >= share * this.#count) return Math.min(this.#most, MIN_MS * Math.exp(own * STEP))
    }
    return 0
  }
}
