/** What is said to somebody whose push is refused: why, where, and how to go on. */
import type { PushRefusalCode } from "../../domain/code/code-events.ts"

/** A push is refused. */
export interface RefusedPush {
  readonly code: PushRefusalCode
  /** A sentence. */
  readonly why: string
  /** Each a line of what it is about. */
  readonly places: readonly string[]
  /** What to do about it. */
  readonly next: string
  /** Whether a key was switched off for it: that fact names the push, so its refusal is one, too. */
  readonly hasSwitchedOff?: true
}

/** So many places are told: whoever has more goes on when these are mended. */
export const MOST_PLACES = 20

/** The lines for the terminal. */
export function linesOf({ why, places, next }: RefusedPush): readonly string[] {
  const shown = places.slice(0, MOST_PLACES).map((place) => `  ${inOneLine(place)}`)
  const more = places.length > MOST_PLACES ? ["  and more"] : []
  return [why, ...shown, ...more, next]
}

/** People's words in a line for people: what would move a cursor or hide a letter is written as its code. */
export function inOneLine(text: string): string {
  return text.replaceAll(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu,
    (one) => `\\u{${(one.codePointAt(0) ?? 0).toString(16)}}`,
  )
}
