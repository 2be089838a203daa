/** Times and names as the mails of the ledger write them. */

/** `2026-11-23 00:00 UTC`. */
export function utc(at: number): string {
  return `${new Date(at).toISOString().slice(0, 16).replace("T", " ")} UTC`
}

/** Names are people's own words: whatever would begin a line or a header of its own is a space. */
export function oneLine(text: string): string {
  return text.replaceAll(/[\p{Cc}\u2028\u2029]+/gu, " ")
}
