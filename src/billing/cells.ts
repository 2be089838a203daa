/** Cells of a CSV file (RFC 4180): text is always quoted, and cannot come alive in a spreadsheet. */

/** What ends a line of a CSV file. */
export const LINE_END = "\r\n"

/**
 * What a spreadsheet takes for the beginning of a formula, with white space that it skips on the way to it. The
 * full-width and small forms of the characters count as they do. `console/parts/save-csv.ts` has the same.
 */
const LIVE = /^(?:[\t\r\n]|[\s\ufeff]*[=+\-@＝＋－＠﹦﹢﹣﹫−])/

/** A text as a cell. One that a spreadsheet would take for a formula gets an apostrophe before it. */
export function textCell(text: string): string {
  const inert = LIVE.test(text) ? `'${text}` : text
  return inert.includes('"') ? `"${inert.replaceAll('"', '""')}"` : `"${inert}"`
}
