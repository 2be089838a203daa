/** The ledger's time: the same in all processes, and the only time that decisions use. */
export interface Clock {
  /**
   * Returns UTC milliseconds since 1970.
   *
   * @throws ClockUnsure if this process has no recent measurement of the ledger's time
   */
  readonly now: () => number
}

/** This process has no measurement of the ledger's time that is recent enough for writing. */
export class ClockUnsure extends Error {
  override readonly name = "ClockUnsure"
}

/** This process's monotonic time, for deadlines and backoff; decisions never use it. */
export interface Pacer {
  /** Milliseconds since an arbitrary moment; never decreases. */
  readonly elapsedMs: () => number
  /** Resolves after `ms` milliseconds, or when the signal aborts. */
  readonly pause: (ms: number, signal?: AbortSignal) => Promise<void>
}
