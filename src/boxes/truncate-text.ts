/** Bytes as texts, and texts that are cut, by characters and not by halves of them; a cut text says so. */
import { isUtf8 } from "node:buffer"

/** Bytes as text; each that is no UTF-8 becomes U+FFFD. A mark at the beginning stays. */
export function decodeUtf8(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes)
}

/** Whether the text of these bytes, or what is shown of it, has a character that stands for other bytes. */
export function hasReplacementCharacters(bytes: Uint8Array, shown: string): boolean {
  return !isUtf8(bytes) && shown.includes("\ufffd")
}

/** The first so many characters of a text: all of one that has no more. */
export function firstCharacters(text: string, most: number): string {
  if (text.length <= most) return text
  let end = 0
  for (let count = 0; count < most && end < text.length; count += 1) {
    end += (text.codePointAt(end) ?? 0) > 0xffff ? 2 : 1
  }
  return text.slice(0, end)
}

/** Whether a text has more characters than so many. */
export const isLongerThan = (text: string, most: number): boolean =>
  firstCharacters(text, most).length < text.length

/** The first so many characters of a text; where there was more, the last of them are a line that says so. */
export function truncateText(text: string, most: number, isCut = false): string {
  if (!isCut && !isLongerThan(text, most)) return text
  const says = `\n[cut off here: at most ${most.toLocaleString("en-US")} characters are shown]\n`
  return firstCharacters(text, most - says.length) + says
}
