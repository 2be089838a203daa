/** Two things as JSON, line by line: what only the first has (`-`), only the second (`+`), and both. */

import { canonicalJson } from "../frame/kernel/canonical-json.ts"

/** The lines of a difference; a null is nothing at all. */
export function diffLines(before: object | null, after: object | null): readonly string[] {
  const [a, b] = [linesOf(before), linesOf(after)]
  const lengths = commonLengths(a, b)
  const lines: string[] = []
  let [i, j] = [0, 0]
  while (i < a.length || j < b.length) {
    const [x, y] = [a[i], b[j]]
    if (x !== undefined && x === y) {
      lines.push(`  ${x}`)
      i += 1
      j += 1
      continue
    }
    const isGone = (lengths[i + 1]?.[j] ?? -1) >= (lengths[i]?.[j + 1] ?? -1)
    if (x !== undefined && (y === undefined || isGone)) {
      lines.push(`- ${x}`)
      i += 1
    } else {
      lines.push(`+ ${y}`)
      j += 1
    }
  }
  return lines
}

function linesOf(value: object | null): readonly string[] {
  if (value === null) return []
  // By the names of its fields: in which order they came to be says nothing.
  return JSON.stringify(JSON.parse(canonicalJson(value)), null, 2).split("\n")
}

/** How many lines the rests from each pair of places have in common, in order. */
function commonLengths(a: readonly string[], b: readonly string[]): readonly number[][] {
  const lengths = Array.from({ length: a.length + 1 }, () =>
    Array.from({ length: b.length + 1 }, () => 0),
  )
  const at = (i: number, j: number): number => lengths[i]?.[j] ?? 0
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      const row = lengths[i] as number[]
      row[j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1))
    }
  }
  return lengths
}
