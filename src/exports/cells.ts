/** Cells of a CSV file (RFC 4180): text is always quoted, and cannot come alive in a spreadsheet. */

/** What ends a line of a CSV file. */
export const LINE_END = "\r\n"

/**
 * Characters that a spreadsheet takes for the beginning of a formula, full-width ones too, or skips on the way to
 * one. `console/parts/save-csv.ts` has the same list.
 */
const LIVE: ReadonlySet<string> = new Set([..."=+-@\t\r\n＝＋－＠"])

/** A text as a cell. One that a spreadsheet would take for a formula gets an apostrophe before it. */
export function textCell(text: string): string {
  const inert = LIVE.has(text.charAt(0)) ? `'${text}` : text
  return inert.includes('"') ? `"${inert.replaceAll('"', '""')}"` : `"${inert}"`
}
