/** Whether a checkpoint is what folding gives, whatever order its maps and objects were filled in. */
import type { CheckpointForm } from "../../domain/kernel/decider.ts"
import type { KeptCheckpoint } from "../frame/operator/operation.ts"

/** What a checkpoint should say, and what it says. */
export interface CheckpointFault {
  readonly expected: string
  readonly found: string
}

/**
 * The first thing that a checkpoint says wrongly; null where it says nothing wrong, or is of another
 * shape and never read.
 *
 * @param hash of the event that it is of
 */
export function checkpointFault<S>(
  { shape, hash: kept, text }: KeptCheckpoint,
  form: CheckpointForm<S>,
  state: S,
  hash: string,
): CheckpointFault | null {
  if (shape !== form.shape) return null
  if (kept !== hash) return { expected: `the hash ${hash}`, found: `the hash ${kept}` }
  try {
    const saved = form.save(form.load(JSON.parse(text)))
    return firstDifference(orderFree(asJson(form.save(state))), orderFree(asJson(saved)), "")
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    return { expected: "what folding gives", found: `it cannot be loaded: ${why}` }
  }
}

/** As it is kept: what JSON leaves out is not there. */
const asJson = (saved: unknown): unknown => JSON.parse(JSON.stringify(saved) ?? "null")

/** The first place, by name, where two values differ, with both. */
function firstDifference(expected: unknown, found: unknown, path: string): CheckpointFault | null {
  const [a, b] = [JSON.stringify(expected), JSON.stringify(found)]
  if (a === b) return null
  if (!isTree(expected) || !isTree(found)) {
    const say = (text: string | undefined) => `${path || "the state"} ${text ?? "nowhere"}`
    return { expected: say(a), found: say(b) }
  }
  for (const name of new Set([...Object.keys(expected), ...Object.keys(found)])) {
    const place = path === "" ? name : `${path}.${name}`
    const difference = firstDifference(expected[name], found[name], place)
    if (difference !== null) return difference
  }
  return { expected: `${path} ${a}`, found: `${path} ${b}` }
}

function isTree(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null
}

/** A value that is equal for equal states, whatever order their maps and objects were filled in. */
function orderFree(value: unknown): unknown {
  if (Array.isArray(value)) {
    const items: unknown[] = value.map(orderFree)
    if (items.length === 0 || !items.every(isRow)) return items
    const sorted = items.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
    return byKey(sorted) ?? sorted
  }
  if (typeof value !== "object" || value === null) return value
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([key, item]) => [key, orderFree(item)]))
}

/** Pairs by their keys, so that a place in them has a name; null where they are none. */
function byKey(rows: readonly unknown[]): Readonly<Record<string, unknown>> | null {
  const pairs = rows.filter(
    (row): row is [string, unknown] => Array.isArray(row) && row.length === 2,
  )
  const table = Object.fromEntries(pairs.map(([key, value]) => [`[${key}]`, value]))
  return Object.keys(table).length === rows.length ? table : null
}

/** A row of a table that is kept as a list: an object, or a pair that begins with its key. */
function isRow(item: unknown): boolean {
  if (Array.isArray(item)) return typeof item[0] === "string"
  return typeof item === "object" && item !== null
}
