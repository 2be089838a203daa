/**
 * `Ledger-Position`: a place in the global order as an opaque text for callers.
 *
 * A place means something in one event store only, and an installation's events may move: into
 * another store, or out of a backup. So the text begins with how often they had moved when it was
 * said, unless they never had.
 */
import type { Position } from "../../../../adapters/eventstore/port.ts"

const TOKEN = /^(?:([1-9a-z][0-9a-z]{0,4})-)?([0-9a-z]{1,13})(?:\.([0-9a-z]{1,13}))?$/

/** The text of a place. @param generation how often the events have moved */
export function tokenOf({ commit, prepare }: Position, generation: number): string {
  const place =
    commit === prepare ? commit.toString(36) : `${commit.toString(36)}.${prepare.toString(36)}`
  return generation === 0 ? place : `${generation.toString(36)}-${place}`
}

/** A place that was said, and how often the events had moved by then. */
export interface SaidPlace {
  readonly generation: number
  readonly position: Position
}

/** The place of a text; null where it is none. */
export function placeOf(token: string): SaidPlace | null {
  const match = TOKEN.exec(token)
  if (match === null) return null
  const [, generation = "0", first = "", second = first] = match
  const position = { commit: fromBase36(first), prepare: fromBase36(second) }
  return { generation: Number.parseInt(generation, 36), position }
}

function fromBase36(text: string): bigint {
  let value = 0n
  for (const digit of text) value = value * 36n + BigInt(Number.parseInt(digit, 36))
  return value
}
