/** Whether a checkpoint is what folding gives, whatever order its maps and objects were filled in. */
import type { CheckpointForm } from "../../domain/kernel/decider.ts"
import type { KeptCheckpoint } from "../admin/operation.ts"

/** Why a checkpoint is not of this state; null where it is, or is of another shape and never read. */
export function checkpointFault<S>(
  { shape, saved }: KeptCheckpoint,
  form: CheckpointForm<S>,
  state: S,
): string | null {
  if (shape !== form.shape) return null
  try {
    const isSame = orderFree(form.save(form.load(saved))) === orderFree(form.save(state))
    return isSame ? null : "the checkpoint differs"
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    return `it cannot be loaded: ${why}`
  }
}

/** Text that is equal for equal states, whatever order their maps and objects were filled in. */
function orderFree(saved: unknown): string {
  const sorted = (value: unknown): unknown => {
    if (Array.isArray(value)) {
      const items = value.map(sorted)
      const isTable = items.length > 0 && items.every(isRow)
      return isTable
        ? items.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
        : items
    }
    if (typeof value !== "object" || value === null) return value
    const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
    return Object.fromEntries(entries.map(([key, item]) => [key, sorted(item)]))
  }
  return JSON.stringify(sorted(saved))
}

/** A row of a table that is kept as a list: an object, or a pair that begins with its key. */
function isRow(item: unknown): boolean {
  if (Array.isArray(item)) return typeof item[0] === "string"
  return typeof item === "object" && item !== null
}
