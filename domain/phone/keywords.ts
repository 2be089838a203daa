/**
 * What a person can text to a company to stop, to start again, or to ask for help (decisions.md §9).
 */

/** What an incoming text asks for. */
export type Keyword = "stop" | "start" | "help"

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
export function keywordForm(body: string): string {
  return body
    .normalize("NFKC")
    .replace(INVISIBLE, "")
    .toUpperCase()
    .replace(/[^\p{L}\p{N}\s]/gu, "")
    .replace(/\s+/g, " ")
    .trim()
}

/** What the whole text asks for; null where it is an ordinary text. */
export function keywordOf(body: string, extraOptOutWords: readonly string[]): Keyword | null {
  const form = keywordForm(body)
  if (START.includes(form)) return "start"
  if (HELP.includes(form)) return "help"
  if (STOP.includes(form) || extraOptOutWords.some((word) => keywordForm(word) === form)) {
    return form === "" ? null : "stop"
  }
  return null
}

/** Whether a text already tells how to stop, so that no opt-out line is added. */
export function saysStop(body: string): boolean {
  return /\bSTOP\b/i.test(body)
}
