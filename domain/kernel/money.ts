/**
 * Money is an integer number of micro-dollars (millionths of a US dollar).
 *
 * A JavaScript number is exact up to 2^53, about nine billion dollars; `MAX_MICROS` is below that, so a sum that
 * passes its check is exact.
 */

/** Integer micro-dollars: 1_000_000 is one dollar. */
export type Micros = number

/** The largest balance, sum or amount: nine billion dollars. */
export const MAX_MICROS: Micros = 9_000_000_000_000_000

const MICROS_PER_DOLLAR = 1_000_000

/** Whether `value` is an integer within ±`MAX_MICROS`. */
export function isMicros(value: number): boolean {
  return Number.isSafeInteger(value) && Math.abs(value) <= MAX_MICROS
}

/** Converts micro-dollars to dollars for a response, without rounding to cents. */
export function dollarsFromMicros(micros: Micros): number {
  return micros / MICROS_PER_DOLLAR
}

/** Parses dollars such as `12.50` or `-3` with at most six decimals; null if invalid. */
export function microsFromDollars(text: string): Micros | null {
  const match = /^([+-]?)(\d{1,10})(?:\.(\d{1,6}))?$/.exec(text.trim())
  if (match === null) return null
  const [, sign, whole, fraction = ""] = match
  const micros = Number(whole) * MICROS_PER_DOLLAR + Number(fraction.padEnd(6, "0"))
  if (!isMicros(micros)) return null
  return sign === "-" && micros !== 0 ? -micros : micros
}

/** Formats an amount exactly for people: `$0.009`, `-$12.50`. */
export function formatMoney(micros: Micros): string {
  return `${micros < 0 ? "-" : ""}$${formatDollars(Math.abs(micros))}`
}

/** Formats an amount as exact decimal dollars with at least two decimals: `0.009`, `-12.50`. */
export function formatDollars(micros: Micros): string {
  const sign = micros < 0 ? "-" : ""
  const digits = String(Math.abs(micros)).padStart(7, "0")
  const fraction = digits.slice(-6).replace(/0{1,4}$/, "")
  return `${sign}${digits.slice(0, -6)}.${fraction}`
}
