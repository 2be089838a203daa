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

/** The first `maxCharacters` characters of a text. */
export function firstCharacters(text: string, maxCharacters: number): string {
  if (text.length <= maxCharacters) return text
  let end = 0
  for (let count = 0; count < maxCharacters && end < text.length; count += 1) {
    end += (text.codePointAt(end) ?? 0) > 0xffff ? 2 : 1
  }
  return text.slice(0, end)
}

/** Whether a text has more than `maxCharacters` characters. */
export const isLongerThan = (text: string, maxCharacters: number): boolean =>
  firstCharacters(text, maxCharacters).length < text.length

/** The first `maxCharacters` characters of a text; a truncated one ends with a line that says so. */
export function truncateText(text: string, maxCharacters: number, isCut = false): string {
  if (!isCut && !isLongerThan(text, maxCharacters)) return text
  const note = `\n[truncated: at most ${maxCharacters.toLocaleString("en-US")} characters are shown]\n`
  return firstCharacters(text, maxCharacters - note.length) + note
}
