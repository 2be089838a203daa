/** How long nginx tries a process that is gone, by the settings of `deploy/nginx`. */

/** What was lost: a process, whose port refuses at once, or its whole machine, which does not answer. */
export type Loss = "process" | "machine"

/** `proxy_connect_timeout` and `fail_timeout`; one failure (`max_fails`) is enough. */
const CONNECT_TIMEOUT_MICROS = 2_000_000
const FAIL_TIMEOUT_MICROS = 5_000_000

/**
 * What a call waits at nginx before it goes to another process, in microseconds. It is told when the
 * call comes, microseconds after the loss, in the order of time.
 */
export function openProxy(loss: Loss): (at: number) => number {
  // A port that refuses is answered within the machine's own network: nothing that counts here.
  if (loss === "process") return () => 0
  let checkedAt = CONNECT_TIMEOUT_MICROS
  return (at) => {
    if (at < CONNECT_TIMEOUT_MICROS) return CONNECT_TIMEOUT_MICROS
    if (at - checkedAt <= FAIL_TIMEOUT_MICROS) return 0
    // One call tries it again, and all others are spared.
    checkedAt = at
    return CONNECT_TIMEOUT_MICROS
  }
}
