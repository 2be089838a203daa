/** Waiting for what happens in the test's own process, without asking again and again. */

/** Something that happens repeatedly. */
export interface Signal {
  /** Has everyone who waits look again. */
  readonly notify: () => void
  /** Resolves once the condition holds; it is looked at now and after each `tell`. */
  readonly until: (holds: () => boolean) => Promise<void>
}

/** Opens a signal. */
export function newSignal(): Signal {
  let next = Promise.withResolvers<undefined>()
  return {
    notify: () => {
      const told = next
      next = Promise.withResolvers<undefined>()
      told.resolve(undefined)
    },
    until: async (holds) => {
      while (!holds()) await next.promise
    },
  }
}
