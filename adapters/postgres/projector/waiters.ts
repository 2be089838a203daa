import type { Position } from "../../eventstore/port.ts"

interface Waiter {
  readonly place: Position
  readonly resolve: (reached: boolean) => void
}

/** Somebody who waits for a place. */
export interface Waiting {
  /** True once the place is reached, false where it will not be. */
  readonly done: Promise<boolean>
  readonly cancel: () => void
}

/** Those who wait until something reaches a place in the global order. */
export class Waiters {
  #waiting: readonly Waiter[] = []
  readonly #onAdded: () => void

  /** @param onAdded called whenever somebody begins to wait */
  constructor(onAdded: () => void = () => undefined) {
    this.#onAdded = onAdded
  }

  /** Whether anybody waits. */
  get isEmpty(): boolean {
    return this.#waiting.length === 0
  }

  /** Waits until `tell` says that the place is reached. */
  add(place: Position): Waiting {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const waiter = { place, resolve }
    this.#waiting = [...this.#waiting, waiter]
    this.#onAdded()
    return {
      done: promise,
      cancel: () => {
        this.#waiting = this.#waiting.filter((one) => one !== waiter)
        resolve(false)
      },
    }
  }

  /** Tells those whose place is reached. */
  tell(isReached: (place: Position) => boolean): void {
    if (this.isEmpty) return
    const reached = this.#waiting.filter(({ place }) => isReached(place))
    this.#waiting = this.#waiting.filter((one) => !reached.includes(one))
    for (const { resolve } of reached) resolve(true)
  }

  /** Tells everybody that their place will not be reached. */
  giveUp(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const { resolve } of waiting) resolve(false)
  }
}
