/** Addresses of the internet, in the one form in which equal ones are equal. */

const GROUPS = 8

/** An IPv4 address of four decimal numbers; null for other ways to write one, which parsers differ in. */
export function ipv4FormOf(text: string): string | null {
  const numbers = text.split(".")
  const isPlain = (part: string) => /^(0|[1-9]\d{0,2})$/.test(part) && Number(part) < 256
  return numbers.length === 4 && numbers.every(isPlain) ? text : null
}

/** An IPv6 address as RFC 5952 writes it; null where it is none, or names a zone (`%eth0`). */
export function ipv6FormOf(text: string): string | null {
  const groups = ipv6Groups(text)
  return groups === null ? null : shortened(groups)
}

/** The eight numbers of an IPv6 address; null where it is none. */
function ipv6Groups(text: string): readonly number[] | null {
  const halves = text.toLowerCase().split("::")
  if (halves.length > 2) return null
  const [before, after] = halves.map((half, i) => groupsIn(half, i === halves.length - 1))
  if (before === undefined || before === null || after === null) return null
  if (after === undefined) return before.length === GROUPS ? before : null
  const missing = GROUPS - before.length - after.length
  return missing < 1 ? null : [...before, ...Array<number>(missing).fill(0), ...after]
}

/** The numbers in a part without `::`; an IPv4 address may be the last of them. */
function groupsIn(part: string, isLast: boolean): readonly number[] | null {
  if (part === "") return []
  const words = part.split(":")
  const found: number[] = []
  for (const [i, word] of words.entries()) {
    if (/^[0-9a-f]{1,4}$/.test(word)) {
      found.push(Number.parseInt(word, 16))
      continue
    }
    const inner = isLast && i === words.length - 1 ? ipv4FormOf(word) : null
    if (inner === null) return null
    const [a = 0, b = 0, c = 0, d = 0] = inner.split(".").map(Number)
    found.push(a * 256 + b, c * 256 + d)
  }
  return found
}

/** The longest run of zeros, the first of equal ones, becomes `::`. */
function shortened(groups: readonly number[]): string {
  let best = { start: -1, length: 1 }
  let start = 0
  for (const [i, group] of groups.entries()) {
    if (group !== 0) start = i + 1
    else if (i - start + 1 > best.length) best = { start, length: i - start + 1 }
  }
  const text = (some: readonly number[]) => some.map((one) => one.toString(16)).join(":")
  if (best.start < 0) return text(groups)
  return `${text(groups.slice(0, best.start))}::${text(groups.slice(best.start + best.length))}`
}
