/**
 * Words that the project does not use, with replacements; `docs/glossary.md` has the terms. The list has the words that
 * confused readers.
 */
import type { SourceText, StyleViolation } from "./source-tree.ts"

/** A word, its patterns in names and text, and its replacement. */
interface AvoidedWord {
  readonly word: string
  readonly patterns: readonly RegExp[]
  readonly instead: string
}

/** A word that is found anywhere, including inside names. */
const word = (text: string, instead: string): AvoidedWord => ({
  word: text,
  patterns: [new RegExp(text, "i")],
  instead,
})

/**
 * A word or phrase with patterns of its own.
 *
 * @param prose matches it as whole words, in any case
 * @param name matches it as part of a camelCase name
 */
const phrase = (text: string, prose: RegExp, instead: string, name?: RegExp): AvoidedWord => ({
  word: text,
  patterns: name === undefined ? [prose] : [prose, name],
  instead,
})

const AVOIDED_WORDS: readonly AvoidedWord[] = [
  word("nobody", "no caller, no company, nothing"),
  word("somebody", "a caller, a person, another process"),
  word("whoever", "the caller, anyone who"),
  phrase("beside", /\bbeside\b/i, "next to, with, in addition to", /[a-z]Beside\b/),
  phrase("told", /\btold\b/i, "notified, sent, answered", /[a-z]Told|\btold[A-Z]/),
  phrase("heed", /\bheed(s|ed|ing)?\b/i, "respect"),
  phrase("mend", /\bmend(s|ed|ing)?\b/i, "fix, repair"),
  word("reckon", "calculate, count"),
  phrase("anew", /\banew\b/i, "again"),
  phrase("stand-in", /\bstand-?ins?\b/i, "simulator"),
  phrase("give back", /\b(gives?|gave|given|giving) back\b/i, "refund", /giv(e|en|ing)Back/i),
  phrase("parked", /\bpark(s|ed|ing)?\b/i, "stuck", /[a-z]Park(ed)?\b|\bparked[A-Z]/),
  phrase("lane", /\blanes?\b/i, "stream queue", /[a-z]Lanes?\b|\blane[A-Z]/),
  phrase("at once", /\bat once\b/i, "immediately, concurrently", /\batOnce|AtOnce/),
  phrase("of what", /\bof what\b/i, "the noun"),
  phrase("what is kept", /\bwhat is kept\b/i, "the noun"),
]

/**
 * Finds lines with an avoided word.
 *
 * @param exceptions parts of lines that may have one, by path
 */
export function avoidedWords(
  { path, text }: SourceText,
  exceptions: Readonly<Record<string, readonly string[]>> = {},
): readonly StyleViolation[] {
  const allowed = exceptions[path] ?? []
  return text.split("\n").flatMap((line, index) => {
    if (allowed.some((part) => line.includes(part))) return []
    const found = AVOIDED_WORDS.find(({ patterns }) => patterns.some((one) => one.test(line)))
    return found === undefined
      ? []
      : `${path}:${index + 1}: "${found.word}": write ${found.instead}`
  })
}
