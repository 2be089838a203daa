/** RFC 8785 canonical text of parsed JSON: equal values have equal texts. */

/** Canonical JSON text of a value that came from JSON; `undefined` (no body) is empty text. */
export function canonicalJson(value: unknown): string {
  if (value === undefined) return ""
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`
  if (typeof value !== "object" || value === null) return JSON.stringify(value)
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  const fields = entries.map(([name, item]) => `${JSON.stringify(name)}:${canonicalJson(item)}`)
  return `{${fields.join(",")}}`
}
