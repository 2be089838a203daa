/** Turns at what only so many may do at once in this process. */

/** Who may do it now, and who waits for that. */
export interface Turns {
  /**
   * Does it once it is its turn: who came first is first.
   *
   * @param signal once it aborts nobody waits for a turn any more; what began goes on
   * @throws what the signal was aborted with, where it was before the turn came
   */
  readonly take: <T>(signal: AbortSignal, work: () => Promise<T>) => Promise<T>
}

/** Opens turns. @param most so many at once */
export function openTurns(most: number): Turns {
  let going = 0
  const waiting = new Set<() => void>()
  const end = (): void => {
    const [next] = waiting
    if (next === undefined) {
      going -= 1
      return
    }
    waiting.delete(next)
    next()
  }
  const turn = async (signal: AbortSignal): Promise<void> => {
    if (going < most) {
      going += 1
      return
    }
    signal.throwIfAborted()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const leave = (): void => {
      waiting.delete(resolve)
      reject(signal.reason)
    }
    waiting.add(resolve)
    signal.addEventListener("abort", leave, { once: true })
    await promise
    signal.removeEventListener("abort", leave)
  }
  return {
    take: async (signal, work) => {
      await turn(signal)
      try {
        return await work()
      } finally {
        end()
      }
    },
  }
}
