/** How far the server's clock is ahead of this machine's, ms: an installation may go by a clock of its own. */
let aheadMs = 0

/** Goes by what the server said of its time, ISO. */
export function setServerTime(now: string): void {
  aheadMs = Date.parse(now) - Date.now()
}

/** The server's time, ms. */
export function serverTime(): number {
  return Date.now() + aheadMs
}
