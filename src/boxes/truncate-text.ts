/** Decodes bytes, and truncates texts by whole characters, with a note. */
import { isUtf8 } from "node:buffer"

/** Decodes UTF-8; invalid bytes become U+FFFD, and a byte order mark stays. */
export function decodeUtf8(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes)
}

/** Whether the shown part of the text has a character that replaces invalid bytes. */
export function hasReplacementCharacters(bytes: Uint8Array, text: string): boolean {
  return !isUtf8(bytes) && text.includes("\ufffd")
}

/** The first `most` characters of a text. */
export function firstCharacters(text: string, most: number): string {
  if (text.length <= most) return text
  let end = 0
  for (let count = 0; count < most && end < text.length; count += 1) {
    end += (text.codePointAt(end) ?? 0) > 0xffff ? 2 : 1
  }
  return text.slice(0, end)
}

/** Whether a text has more than `most` characters. */
export const isLongerThan = (text: string, most: number): boolean =>
  firstCharacters(text, most).length < text.length

/** The first `most` characters of a text; a truncated one ends with a line that says so. */
export function truncateText(text: string, most: number, isCut = false): string {
  if (!isCut && !isLongerThan(text, most)) return text
  const note = `\n[truncated: at most ${most.toLocaleString("en-US")} characters are shown]\n`
  return firstCharacters(text, most - note.length) + note
}
