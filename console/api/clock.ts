/** Offset of the server's clock to this machine's, ms; an installation may use a clock of its own. */
let aheadMs = 0

/** Sets the offset from the server's time (ISO). */
export function setServerTime(now: string): void {
  aheadMs = Date.parse(now) - Date.now()
}

/** The server's time, ms. */
export function serverTime(): number {
  return Date.now() + aheadMs
}
