/** Rules of texting: default replies, the opt-out line and keywords. */

/** The texting rules of a company. Replies have at most 320 characters. */
export interface TextingRules {
  readonly optOutReply: string
  readonly optInReply: string
  readonly helpReply: string
  readonly extraOptOutWords: readonly string[]
  readonly optOutLine: boolean
}

/** The initial rules of every company. */
export const DEFAULT_TEXTING_RULES: TextingRules = {
  optOutReply: "You are unsubscribed and will get no more texts. Reply START to subscribe again.",
  optInReply: "You are subscribed again. Reply STOP to unsubscribe.",
  helpReply: "Reply STOP to unsubscribe, START to subscribe again.",
  extraOptOutWords: [],
  optOutLine: true,
}

/** The last line of the first text to a recipient. */
export const OPT_OUT_LINE = "Reply STOP to opt out."

/** Appends the opt-out line to a text. */
export function withOptOutLine(body: string): string {
  return `${body}\n${OPT_OUT_LINE}`
}

/** What an incoming keyword requests. */
export type TextKeyword = "stop" | "start" | "help"

const STOP = [
  "STOP",
  "STOPALL",
  "STOP ALL",
  "UNSUBSCRIBE",
  "CANCEL",
  "END",
  "QUIT",
  "REVOKE",
  "OPTOUT",
  "OPT OUT",
]
const START = ["START", "UNSTOP", "YES"]
const HELP = ["HELP", "INFO"]

/** Characters without a glyph, such as zero-width spaces, byte-order marks and direction marks. */
const INVISIBLE = /[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu

/**
 * Normalizes text for keyword comparison: trimmed, upper case, without punctuation and invisible characters.
 * Full-width and other compatible forms become the plain letter.
 */
export function normalizeKeyword(body: string): string {
  return body
    .normalize("NFKC")
    .replace(INVISIBLE, "")
    .toUpperCase()
    .replace(/[^\p{L}\p{N}\s]/gu, "")
    .replace(/\s+/g, " ")
    .trim()
}

/** Returns the keyword that the whole text is; null for an ordinary text. */
export function textKeywordOf(
  body: string,
  extraOptOutWords: readonly string[],
): TextKeyword | null {
  const normalized = normalizeKeyword(body)
  if (START.includes(normalized)) return "start"
  if (HELP.includes(normalized)) return "help"
  if (
    STOP.includes(normalized) ||
    extraOptOutWords.some((word) => normalizeKeyword(word) === normalized)
  ) {
    return normalized === "" ? null : "stop"
  }
  return null
}

/** Whether a text already says how to opt out, so that the opt-out line is not added. */
export function mentionsStop(body: string): boolean {
  return /\bSTOP\b/i.test(body)
}
