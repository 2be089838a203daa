/**
 * Finding texts by their words: by the beginning of one, by a part of it, or with a slip of the finger. Every
 * word of a query is held against every word that there is, of which a list of streets has few; so 12,000
 * streets take milliseconds and need no database.
 */
import { distance } from "fastest-levenshtein"

/** A search over texts. */
export interface TextSearch {
  /** The places of the best matches, the best first. */
  readonly find: (query: string, most: number) => readonly number[]
}

/** So much of a query's letters must be found again, or it means something else. */
const LEAST_PART = 0.6

/** Makes a search. */
export function searchOver(texts: readonly string[]): TextSearch {
  const vocabulary = new Map<string, number>()
  const rows = texts.map((text) =>
    wordsOf(text).map((word) => {
      const known = vocabulary.get(word)
      if (known !== undefined) return known
      vocabulary.set(word, vocabulary.size)
      return vocabulary.size - 1
    }),
  )
  const words = [...vocabulary.keys()]
  return {
    find: (query, most) => {
      const asked = wordsOf(query)
      const letters = asked.reduce((sum, { length }) => sum + length, 0)
      if (letters === 0) return []
      // How well each word that there is stands for each that is asked for, once for all texts.
      const fits = asked.map((word) => words.map((one) => fitOf(word, one) * word.length))
      const scores = rows.map((row) =>
        fits.reduce((sum, fit) => sum + row.reduce((best, i) => Math.max(best, fit[i] ?? 0), 0), 0),
      )
      const found = [...scores.keys()].filter((i) => (scores[i] ?? 0) >= letters * LEAST_PART)
      // Of two that hold the same of it, the shorter says less that was not asked for.
      const better = (a: number, b: number) =>
        (scores[b] ?? 0) - (scores[a] ?? 0) ||
        (texts[a] ?? "").length - (texts[b] ?? "").length ||
        a - b
      return found.toSorted(better).slice(0, most)
    },
  }
}

/** How well a word stands for one that was typed, 0 to 1. */
function fitOf(typed: string, word: string): number {
  if (word === typed) return 1
  if (word.startsWith(typed)) return 0.95
  if (typed.length < 3) return 0
  if (word.includes(typed)) return 0.7
  // A letter too many, too few or another, two of a longer word; or two that changed places.
  const slips = Math.min(
    slipsBetween(typed, word),
    // It may not be at its end yet.
    word.length > typed.length ? slipsBetween(typed, word.slice(0, typed.length)) : Infinity,
  )
  const allowed = typed.length >= 6 ? 2 : 1
  return slips > allowed ? 0 : 0.9 - slips * 0.1 - (typed[0] === word[0] ? 0 : 0.2)
}

/** Letters to change; two neighbours that changed places are one slip. */
function slipsBetween(typed: string, word: string): number {
  const far = distance(typed, word)
  if (far !== 2 || typed.length !== word.length) return far
  const at = [...typed].findIndex((letter, i) => letter !== word[i])
  const swapped = `${typed.slice(0, at)}${typed[at + 1]}${typed[at]}${typed.slice(at + 2)}`
  return swapped === word ? 1 : far
}

function wordsOf(text: string): readonly string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
}
