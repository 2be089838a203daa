/** How long nginx tries a process that is gone, with the settings of `deploy/nginx`. */

/** The loss: a process, whose port refuses immediately, or its whole machine, which does not answer. */
export type Loss = "process" | "machine"

/** `proxy_connect_timeout` and `fail_timeout`; one failure (`max_fails`) is enough. */
const CONNECT_TIMEOUT_MICROS = 2_000_000
const FAIL_TIMEOUT_MICROS = 5_000_000

/**
 * Returns how long a call waits at nginx before it goes to another process, in microseconds. The argument is the time of
 * the call, microseconds after the loss, in ascending order.
 */
export function openProxy(loss: Loss): (at: number) => number {
  // A refused connection takes no relevant time on a local network.
  if (loss === "process") return () => 0
  let checkedAt = CONNECT_TIMEOUT_MICROS
  return (at) => {
    if (at < CONNECT_TIMEOUT_MICROS) return CONNECT_TIMEOUT_MICROS
    if (at - checkedAt <= FAIL_TIMEOUT_MICROS) return 0
    // One call tries the process again; all others skip it.
    checkedAt = at
    return CONNECT_TIMEOUT_MICROS
  }
}
