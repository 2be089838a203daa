/** Versions of the app as semver orders them (semver.org 2.0.0). */

/** A version that can be ordered. */
export interface Version {
  readonly numbers: readonly [string, string, string]
  /** What stands behind the dash; empty for a release proper. */
  readonly before: readonly string[]
}

const NUMBER = "(0|[1-9]\\d*)"
const PART = "(?:0|[1-9]\\d*|\\d*[A-Za-z-][0-9A-Za-z-]*)"
/** How a version is written. */
export const VERSION_FORM = new RegExp(
  `^${NUMBER}\\.${NUMBER}\\.${NUMBER}(?:-(${PART}(?:\\.${PART})*))?(?:\\+[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*)?$`,
)
/** The most characters a version may have. */
export const VERSION_CHARACTERS = 64

/** The version that a text says; null where it says none. */
export function versionOf(text: string): Version | null {
  const match = text.length <= VERSION_CHARACTERS ? VERSION_FORM.exec(text) : null
  if (match === null) return null
  const [, major = "0", minor = "0", patch = "0", before] = match
  return { numbers: [major, minor, patch], before: before?.split(".") ?? [] }
}

/** Below 0 where `a` is older than `b`, 0 where neither is, above 0 where it is newer. */
export function compareVersions(a: Version, b: Version): number {
  for (const [i, number] of a.numbers.entries()) {
    const order = compareDigits(number, b.numbers[i] ?? "0")
    if (order !== 0) return order
  }
  return compareBefore(a.before, b.before)
}

/** A release proper is newer than all that came before it. */
function compareBefore(a: readonly string[], b: readonly string[]): number {
  if (a.length === 0 || b.length === 0) return b.length - a.length
  for (let i = 0; i < Math.max(a.length, b.length); i += 1) {
    const [x, y] = [a[i], b[i]]
    if (x === undefined || y === undefined) return x === y ? 0 : x === undefined ? -1 : 1
    const order = compareParts(x, y)
    if (order !== 0) return order
  }
  return 0
}

/** Numbers stand before words and are ordered by their value. */
function compareParts(a: string, b: string): number {
  const [isNumber, isOtherNumber] = [/^\d+$/.test(a), /^\d+$/.test(b)]
  if (isNumber && isOtherNumber) return compareDigits(a, b)
  if (isNumber !== isOtherNumber) return isNumber ? -1 : 1
  return a === b ? 0 : a < b ? -1 : 1
}

/** Digits without zeros in front, of any length. */
function compareDigits(a: string, b: string): number {
  if (a.length !== b.length) return a.length - b.length
  return a === b ? 0 : a < b ? -1 : 1
}
