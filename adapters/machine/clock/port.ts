/** The ledger's time: the same for all processes, and the only one that decides anything. */
export interface Clock {
  /**
   * UTC milliseconds since 1970.
   *
   * @throws ClockUnsure where this process does not know the ledger's time well enough to write
   */
  readonly now: () => number
}

/** This process has no measurement of the ledger's time that is young enough to write by. */
export class ClockUnsure extends Error {
  override readonly name = "ClockUnsure"
}

/** This process's own passing of time, for deadlines and back-off; it decides nothing. */
export interface Pacer {
  /** Milliseconds since some moment; never goes back. */
  readonly elapsedMs: () => number
  /** Resolves after so many milliseconds, or as soon as the signal aborts. */
  readonly pause: (ms: number, signal?: AbortSignal) => Promise<void>
}
