import { setTimeout as sleep } from "node:timers/promises"

/** Waits for so long, or until the signal aborts. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => {
    // Aborted: whoever waits looks at the signal himself.
  })
}

/** Wakes all who wait for something to change. It carries no news: who wakes looks for itself. */
export class Bell {
  readonly #waiting = new Set<() => void>()

  /** Resolves at the next ring, or when the signal aborts. */
  async wait(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return
    await new Promise<void>((resolve) => {
      const wake = (): void => {
        this.#waiting.delete(wake)
        signal.removeEventListener("abort", wake)
        resolve()
      }
      this.#waiting.add(wake)
      signal.addEventListener("abort", wake)
    })
  }

  /** Wakes everybody who waits now. */
  ring(): void {
    for (const wake of Array.from(this.#waiting)) wake()
  }
}
