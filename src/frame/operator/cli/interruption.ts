/** How long a command waits for what it began, once it was interrupted. */

/** What an interrupted command opened is closed within so long; it is left before the program is. */
export const GIVE_UP_MS = 9_000

/** The value of a promise, or the reason of the signal where that comes first. */
export async function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return unlessEnded(promise, signal, (end) => end())
}

/** The value of a promise, or the reason of the signal where that was aborted so long before. */
export async function soonAfterAbort<T>(
  promise: Promise<T>,
  signal: AbortSignal,
  milliseconds: number,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  try {
    return await unlessEnded(promise, signal, (end) => (timer = setTimeout(end, milliseconds)))
  } finally {
    clearTimeout(timer)
  }
}

/** The value of a promise, unless what an abort sets off ends the wait with the signal's reason. */
async function unlessEnded<T>(
  promise: Promise<T>,
  signal: AbortSignal,
  onceAborted: (end: () => void) => void,
): Promise<T> {
  const { promise: ended, reject } = Promise.withResolvers<never>()
  const onAbort = () => onceAborted(() => reject(signal.reason as Error))
  if (signal.aborted) onAbort()
  signal.addEventListener("abort", onAbort, { once: true })
  try {
    return await Promise.race([promise, ended])
  } finally {
    signal.removeEventListener("abort", onAbort)
  }
}
