/** What callers ask for, and in what shares. */

/** The kinds of calls that a load is mixed of. */
export const KINDS = ["texts", "reads", "refused", "retries"] as const

/** A kind of calls. */
export type Kind = (typeof KINDS)[number]

/** How many of each kind, in parts of all. */
export type Mix = Readonly<Record<Kind, number>>

/** Mostly texts, some reading, and now and then what a limit refuses or a caller says twice. */
export const USUAL_MIX = "texts=60,reads=30,refused=5,retries=5"

/** Reads a mix such as `texts=60,reads=40`. @throws RangeError, with a sentence that says what it may be */
export function parseMix(text: string): Mix {
  const mix: Record<Kind, number> = { texts: 0, reads: 0, refused: 0, retries: 0 }
  for (const part of text.split(",")) {
    const [, name = "", parts = ""] = /^([a-z]+)=(\d{1,6})$/.exec(part) ?? []
    const kind = KINDS.find((one) => one === name)
    if (kind === undefined) {
      throw new RangeError(`a mix names ${KINDS.join(", ")}, each with its part: ${USUAL_MIX}`)
    }
    mix[kind] = Number(parts)
  }
  if (KINDS.every((kind) => mix[kind] === 0)) throw new RangeError("a mix is of something")
  if (mix.retries > 0 && mix.texts === 0) {
    throw new RangeError("only what was sent is sent again: retries need texts")
  }
  return mix
}

/**
 * Gives kinds in the shares of a mix, evenly spread: after any number of calls each kind had its
 * share of them to within one call.
 */
export function openTurns(mix: Mix): () => Kind {
  const total = KINDS.reduce((sum, kind) => sum + mix[kind], 0)
  const owed: Record<Kind, number> = { texts: 0, reads: 0, refused: 0, retries: 0 }
  return () => {
    for (const kind of KINDS) owed[kind] += mix[kind]
    const next = KINDS.reduce((most, kind) => (owed[kind] > owed[most] ? kind : most))
    owed[next] -= total
    return next
  }
}
