/**
 * Words that the project does not use, and what to write instead: `docs/glossary.md` has the terms. The list holds
 * what readers stumbled over; everything else is left to the writer.
 */
import type { SourceText, StyleViolation } from "./source-tree.ts"

/** A word, how it is found in names and in text, and its replacement. */
interface AvoidedWord {
  readonly word: string
  /** Matches the word in prose and, in camelCase or snake_case, in names. */
  readonly pattern: RegExp
  readonly instead: string
}

const AVOIDED_WORDS: readonly AvoidedWord[] = [
  word("nobody", "no caller, no company, nothing"),
  word("somebody", "a caller, a person, another process"),
  word("whoever", "the caller, anyone who"),
  phrase("beside", String.raw`\bbeside\b`, "next to, with, in addition to"),
  phrase("told", String.raw`\btold\b`, "notified, sent, answered"),
  phrase("heed", String.raw`\bheed(s|ed|ing)?\b`, "respect"),
  phrase("mend", String.raw`\bmend(s|ed|ing)?\b`, "fix, repair"),
  word("reckon", "calculate, count"),
  phrase("anew", String.raw`\banew\b`, "again"),
  phrase("stand-in", String.raw`\bstand-?ins?\b`, "simulator"),
  phrase("give back", String.raw`\b(gives?|gave|given|giving) back\b|\bgiv(e|en|ing)Back`, "refund"),
  phrase("parked", String.raw`\bpark(s|ed|ing)?\b|[a-z]Parked|\bparked[A-Z]`, "stuck"),
  phrase("lane", String.raw`\blanes?\b|[a-z]Lanes?\b`, "stream queue"),
  phrase("at once", String.raw`\bat once\b|\batOnce`, "immediately, concurrently"),
  phrase("of what", String.raw`\bof what\b`, "the noun"),
  phrase("what is kept", String.raw`\bwhat is kept\b`, "the noun"),
]

/** A word that is found anywhere, also inside names. */
function word(text: string, instead: string): AvoidedWord {
  return { word: text, pattern: new RegExp(text, "i"), instead }
}

/** A word or phrase that is found by its own pattern. */
function phrase(text: string, pattern: string, instead: string): AvoidedWord {
  return { word: text, pattern: new RegExp(pattern, "i"), instead }
}

/**
 * Lines with an avoided word.
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
    const found = AVOIDED_WORDS.find(({ pattern }) => pattern.test(line))
    return found === undefined ? [] : `${path}:${index + 1}: "${found.word}": write ${found.instead}`
  })
}
