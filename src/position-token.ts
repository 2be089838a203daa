/** `Ledger-Position`: a place in the global order as an opaque text for callers. */
import type { Position } from "../adapters/eventstore/port.ts"

/** The text of a place. */
export function tokenOf({ commit, prepare }: Position): string {
  return commit === prepare ? commit.toString(36) : `${commit.toString(36)}.${prepare.toString(36)}`
}

/** The place of a text; null where it is none. */
export function positionOf(token: string): Position | null {
  const match = /^([0-9a-z]{1,13})(?:\.([0-9a-z]{1,13}))?$/.exec(token)
  if (match === null) return null
  const commit = fromBase36(match[1] as string)
  return { commit, prepare: match[2] === undefined ? commit : fromBase36(match[2]) }
}

function fromBase36(text: string): bigint {
  let value = 0n
  for (const digit of text) value = value * 36n + BigInt(Number.parseInt(digit, 36))
  return value
}
