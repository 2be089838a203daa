/**
 * How a company's texting answers and what it adds, as it stands until the company changes it.
 */

/** Replies are at most 320 characters. */
export interface TextingRules {
  readonly optOutReply: string
  readonly optInReply: string
  readonly helpReply: string
  readonly extraOptOutWords: readonly string[]
  /** Whether the first text to a recipient tells how to stop. */
  readonly optOutLine: boolean
}

/** What every company begins with. */
export const DEFAULT_TEXTING_RULES: TextingRules = {
  optOutReply: "You are unsubscribed and will get no more texts. Reply START to subscribe again.",
  optInReply: "You are subscribed again. Reply STOP to unsubscribe.",
  helpReply: "Reply STOP to unsubscribe, START to subscribe again.",
  extraOptOutWords: [],
  optOutLine: true,
}

/** The line that the first text to a recipient ends in. */
export const OPT_OUT_LINE = "Reply STOP to opt out."

/** The text with the opt-out line on a line of its own. */
export function withOptOutLine(body: string): string {
  return `${body}\n${OPT_OUT_LINE}`
}

/** What an incoming text asks for. */
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

/** Characters that show nothing, such as zero-width spaces, byte-order marks and marks of direction. */
const INVISIBLE = /[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu

/**
 * A text's words as keywords are compared: trimmed, in upper case, without punctuation and invisible characters.
 * Full-width and other compatible forms of a letter are that letter.
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

/** What the whole text asks for; null where it is an ordinary text. */
export function textKeywordOf(
  body: string,
  extraOptOutWords: readonly string[],
): TextKeyword | null {
  const form = normalizeKeyword(body)
  if (START.includes(form)) return "start"
  if (HELP.includes(form)) return "help"
  if (STOP.includes(form) || extraOptOutWords.some((word) => normalizeKeyword(word) === form)) {
    return form === "" ? null : "stop"
  }
  return null
}

/** Whether a text already tells how to stop, so that no opt-out line is added. */
export function mentionsStop(body: string): boolean {
  return /\bSTOP\b/i.test(body)
}
