/**
 * Money is an integer number of micro-dollars (millionths of a US dollar) everywhere inside.
 *
 * A JavaScript number holds every integer up to 2^53 exactly, nine billion dollars in micros;
 * `MAX_MICROS` is kept below that, so a sum that passes its check is exact.
 */

/** Integer micro-dollars: 1_000_000 is one dollar. */
export type Micros = number

/** No balance, sum or amount may pass this: nine thousand million dollars. */
export const MAX_MICROS: Micros = 9_000_000_000_000_000

const MICROS_PER_DOLLAR = 1_000_000

/** Whether `value` is an exact amount within ±`MAX_MICROS`. */
export function isMicros(value: number): boolean {
  return Number.isSafeInteger(value) && Math.abs(value) <= MAX_MICROS
}

/** The amount as a number of dollars for an answer: exact micros ÷ 1e6, never rounded to cents. */
export function dollarsFromMicros(micros: Micros): number {
  return micros / MICROS_PER_DOLLAR
}

/** Reads dollars such as `12.50` or `-3`, at most six decimals; null where it is no such amount. */
export function microsFromDollars(text: string): Micros | null {
  const match = /^([+-]?)(\d{1,10})(?:\.(\d{1,6}))?$/.exec(text.trim())
  if (match === null) return null
  const [, sign, whole, fraction = ""] = match
  const micros = Number(whole) * MICROS_PER_DOLLAR + Number(fraction.padEnd(6, "0"))
  if (!isMicros(micros)) return null
  return sign === "-" && micros !== 0 ? -micros : micros
}

/** The amount as people read it, exact: `$0.009`, `-$12.50`. */
export function formatMoney(micros: Micros): string {
  return `${micros < 0 ? "-" : ""}$${formatDollars(Math.abs(micros))}`
}

/** The amount in dollars as exact decimal text with at least two decimals: `0.009`, `-12.50`. */
export function formatDollars(micros: Micros): string {
  const sign = micros < 0 ? "-" : ""
  const digits = String(Math.abs(micros)).padStart(7, "0")
  const fraction = digits.slice(-6).replace(/0{1,4}$/, "")
  return `${sign}${digits.slice(0, -6)}.${fraction}`
}
