/**
 * Names of the domain name system, in the one form that everything here keeps them in: ASCII, lower case,
 * no dot at the end. Names of other alphabets come as punycode.
 */

/** The longest name in that form, and the longest label, in characters. */
export const MAX_NAME_LENGTH = 253
const MAX_LABEL_LENGTH = 63

/** Services and proofs put an underscore in front: `_dmarc`. */
const LABEL = /^[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?$/

/** The labels of a name, the nearest first: `www`, `example`, `com`. */
export const labelsOf = (name: string): readonly string[] => name.split(".")

/** Whether a name is this one or under it; both in their form. */
export const isSameOrSubdomain = (name: string, ancestor: string): boolean =>
  name === ancestor || name.endsWith(`.${ancestor}`)

/**
 * The form of what names something, without the dot that may stand at its end; null where it cannot be
 * a name. A `*` may stand alone as the nearest label, where that is allowed.
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

/** The form of the name of a host elsewhere; null for one label alone, and for what is an address. */
export function normalizeHostName(text: string): string | null {
  const name = normalizeDomainName(text, { wildcard: false })
  if (name === null) return null
  const labels = labelsOf(name)
  // The rightmost label of a name is never a number: 192.0.2.1 is an address.
  return labels.length < 2 || /^\d+$/.test(labels.at(-1) ?? "") ? null : name
}
