import { setTimeout as sleep } from "node:timers/promises"

/** Waits for so long, or until the signal aborts. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => {
    // Aborted: whoever waits looks at the signal himself.
  })
}
