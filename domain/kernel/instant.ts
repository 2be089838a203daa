/**
 * Instants as ISO 8601 text in UTC, exactly as `toISOString` returns it. Most instants in use belong to the same
 * day, so caching its text makes both directions several times faster.
 */

/** The largest distance from 1970 that ISO 8601 text can express. */
const MAX_TIME_MS = 8_640_000_000_000_000
const DAY_MS = 86_400_000

/** The day used last: its first millisecond and its text up to the `T`. */
const lastDay = { start: Number.NaN, text: "" }
const TWO_DIGITS = Array.from({ length: 60 }, (_, i) => String(i).padStart(2, "0"))
/** The text after the `T`; each `0` is a digit. */
const TIME_FORM = "00:00:00.000Z"
const [COLON, DOT, ZULU, ZERO, NINE] = [58, 46, 90, 48, 57] as const

/** Whether a number is an instant in whole UTC milliseconds that has an ISO 8601 text. */
export function isInstant(value: number): boolean {
  return Number.isInteger(value) && Math.abs(value) <= MAX_TIME_MS
}

/** Formats an instant; `isInstant` must hold. */
export function formatInstant(value: number): string {
  const start = Math.floor(value / DAY_MS) * DAY_MS
  if (start !== lastDay.start) rememberDay(start, new Date(value).toISOString())
  const ms = value - start
  const seconds = Math.floor(ms / 1_000)
  const minutes = Math.floor(seconds / 60)
  const hh = TWO_DIGITS[Math.floor(minutes / 60)]
  const mmm = String((ms % 1_000) + 1_000).slice(1)
  return `${lastDay.text}${hh}:${TWO_DIGITS[minutes % 60]}:${TWO_DIGITS[seconds % 60]}.${mmm}Z`
}

/** Parses an instant; null if the text is not exactly what `toISOString` returns. */
export function parseInstant(text: string): number | null {
  const near = timeOfLastDay(text)
  if (!Number.isNaN(near)) return near
  const value = Date.parse(text)
  // `Date.parse` accepts other spellings, even local time; those are not the hashed text.
  if (Number.isNaN(value) || new Date(value).toISOString() !== text) return null
  rememberDay(Math.floor(value / DAY_MS) * DAY_MS, text)
  return value
}

function rememberDay(start: number, text: string): void {
  lastDay.start = start
  lastDay.text = text.slice(0, -TIME_FORM.length)
}

/** Parses text of the cached day; NaN for any other text. */
function timeOfLastDay(text: string): number {
  const { start, text: day } = lastDay
  const at = day.length
  if (text.length !== at + TIME_FORM.length || !text.startsWith(day)) return Number.NaN
  const isFormed =
    text.charCodeAt(at + 2) === COLON &&
    text.charCodeAt(at + 5) === COLON &&
    text.charCodeAt(at + 8) === DOT &&
    text.charCodeAt(at + 12) === ZULU
  const hours = twoDigits(text, at)
  const minutes = twoDigits(text, at + 3)
  const seconds = twoDigits(text, at + 6)
  const ms = 10 * twoDigits(text, at + 9) + digit(text, at + 11)
  // A character that is not a digit makes its part NaN, and every comparison with NaN is false.
  const isTime = isFormed && hours < 24 && minutes < 60 && seconds < 60 && ms < 1_000
  return isTime ? start + ((hours * 60 + minutes) * 60 + seconds) * 1_000 + ms : Number.NaN
}

function twoDigits(text: string, at: number): number {
  return 10 * digit(text, at) + digit(text, at + 1)
}

function digit(text: string, at: number): number {
  const code = text.charCodeAt(at)
  return code >= ZERO && code <= NINE ? code - ZERO : Number.NaN
}
