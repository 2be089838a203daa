/** Waits for conditions in the test's own process without polling. */

/** A repeatable notification. */
export interface Signal {
  /** Makes every waiter check its condition again. */
  readonly notify: () => void
  /** Resolves once the condition holds; checks it now and after each `notify`. */
  readonly until: (holds: () => boolean) => Promise<void>
}

/** Opens a signal. */
export function newSignal(): Signal {
  let next = Promise.withResolvers<undefined>()
  return {
    notify: () => {
      const current = next
      next = Promise.withResolvers<undefined>()
      current.resolve(undefined)
    },
    until: async (holds) => {
      while (!holds()) await next.promise
    },
  }
}
