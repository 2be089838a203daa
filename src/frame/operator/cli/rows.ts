/** Values with named fields: answers, and the rows of tables. */

/** An answer's fields, or a row's. */
export type Row = Readonly<Record<string, unknown>>

/** Whether a value has named fields. */
export function isRow(value: unknown): value is Row {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}
