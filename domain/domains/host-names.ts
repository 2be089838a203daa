/**
 * DNS names in one normalized form: ASCII, lower case, no trailing dot. Names of other alphabets are in punycode.
 */

/** Maximum length of a normalized name in characters. */
export const MAX_NAME_LENGTH = 253
const MAX_LABEL_LENGTH = 63

/** Services and proofs start with an underscore, such as `_dmarc`. */
const LABEL = /^[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?$/

/** Splits a name into labels, nearest first: `www`, `example`, `com`. */
export const labelsOf = (name: string): readonly string[] => name.split(".")

/** Whether a normalized name equals another or is under it. */
export const isSameOrSubdomain = (name: string, ancestor: string): boolean =>
  name === ancestor || name.endsWith(`.${ancestor}`)

/**
 * Normalizes a name, with or without a trailing dot; null if it is invalid. With `wildcard`, the first label may be
 * `*`.
 */
export function normalizeDomainName(
  text: string,
  { wildcard }: { readonly wildcard: boolean },
): string | null {
  const name = (text.endsWith(".") ? text.slice(0, -1) : text).toLowerCase()
  if (name.length > MAX_NAME_LENGTH) return null
  const labels = labelsOf(name)
  const checked = wildcard && labels.length > 1 && labels[0] === "*" ? labels.slice(1) : labels
  return checked.every(isLabel) ? name : null
}

const isLabel = (label: string): boolean => label.length <= MAX_LABEL_LENGTH && LABEL.test(label)

/** Normalizes the name of a host; null for a single label and for an address. */
export function normalizeHostName(text: string): string | null {
  const name = normalizeDomainName(text, { wildcard: false })
  if (name === null) return null
  const labels = labelsOf(name)
  // The last label of a name is never a number: 192.0.2.1 is an address.
  return labels.length < 2 || /^\d+$/.test(labels.at(-1) ?? "") ? null : name
}
