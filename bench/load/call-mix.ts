/** The kinds of calls and their shares. */

/** The kinds of calls of a load. */
export const CALL_KINDS = ["texts", "reads", "refused", "retries"] as const

export type CallKind = (typeof CALL_KINDS)[number]

/** The number of each kind, as parts of all. */
export type CallMix = Readonly<Record<CallKind, number>>

/** Mostly texts, some reads, and some calls that a limit rejects or a caller repeats. */
export const DEFAULT_MIX = "texts=60,reads=30,refused=5,retries=5"

/** Parses a mix such as `texts=60,reads=40`. @throws RangeError with a sentence about the format */
export function parseCallMix(text: string): CallMix {
  const mix: Record<CallKind, number> = { texts: 0, reads: 0, refused: 0, retries: 0 }
  for (const part of text.split(",")) {
    const [, name = "", parts = ""] = /^([a-z]+)=(\d{1,6})$/.exec(part) ?? []
    const kind = CALL_KINDS.find((one) => one === name)
    if (kind === undefined) {
      throw new RangeError(
        `a mix names ${CALL_KINDS.join(", ")}, each with its part: ${DEFAULT_MIX}`,
      )
    }
    mix[kind] = Number(parts)
  }
  if (CALL_KINDS.every((kind) => mix[kind] === 0)) throw new RangeError("a mix is of something")
  if (mix.retries > 0 && mix.texts === 0) {
    throw new RangeError("only what was sent is sent again: retries need texts")
  }
  return mix
}

/**
 * Returns kinds in the shares of a mix, evenly spread: after any number of calls each kind had its share to within one
 * call.
 */
export function openCallSchedule(mix: CallMix): () => CallKind {
  const total = CALL_KINDS.reduce((sum, kind) => sum + mix[kind], 0)
  const owed: Record<CallKind, number> = { texts: 0, reads: 0, refused: 0, retries: 0 }
  return () => {
    for (const kind of CALL_KINDS) owed[kind] += mix[kind]
    const next = CALL_KINDS.reduce((most, kind) => (owed[kind] > owed[most] ? kind : most))
    owed[next] -= total
    return next
  }
}
