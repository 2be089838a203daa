/** Chance that a seed decides: the same seed draws the same for ever, on every machine. */
export class Chance {
  #a: number
  #b: number
  #c: number
  #count = 1

  constructor(seed: number) {
    this.#a = seed | 0
    this.#b = Math.floor(seed / 2 ** 32) | 0
    this.#c = 0x9e3779b9 | 0
    // The first draws still show how little a seed differs from the next one.
    for (let i = 0; i < 12; i += 1) this.#draw()
  }

  /** 32 bits (sfc32). */
  #draw(): number {
    const sum = (this.#a + this.#b + this.#count) | 0
    this.#count = (this.#count + 1) | 0
    this.#a = this.#b ^ (this.#b >>> 9)
    this.#b = (this.#c + (this.#c << 3)) | 0
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + sum
    this.#c |= 0
    return sum >>> 0
  }

  /** At least 0, below 1. */
  part(): number {
    return this.#draw() / 2 ** 32
  }

  /** A whole number, at least 0, below a bound. */
  below(bound: number): number {
    return Math.floor(this.part() * bound)
  }

  /** A whole number between two, both included. */
  between(least: number, most: number): number {
    return least + this.below(most - least + 1)
  }

  /** True so often: 0 never, 1 always. */
  happens(often: number): boolean {
    return often > 0 && this.part() < often
  }

  /** One of some things. */
  pick<T>(things: readonly T[]): T {
    return things[this.below(things.length)] as T
  }

  /** A UUID in lower case. */
  uuid(): string {
    const hex = Array.from({ length: 4 }, () => this.#draw().toString(16).padStart(8, "0")).join("")
    const parts = [
      [0, 8],
      [8, 12],
      [13, 16],
      [17, 20],
      [20, 32],
    ] as const
    const [time, mid, version, variant, node] = parts.map(([from, to]) => hex.slice(from, to))
    return `${time}-${mid}-7${version}-8${variant}-${node}`
  }
}
