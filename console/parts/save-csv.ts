import { saveFile } from "../api/operations.ts"

/** Saves rows as CSV with the fields of the first row; cells are escaped, so that no program runs them as formulas. */
export function saveCsv(name: string, rows: readonly object[]): void {
  const [first] = rows
  if (first === undefined) return
  const fields = Object.keys(first)
  const lines = rows.map((row) => {
    const values = row as Readonly<Record<string, unknown>>
    return fields.map((field) => cell(values[field])).join(",")
  })
  const text = `${[fields.map(cell).join(","), ...lines].join("\r\n")}\r\n`
  saveFile(new Blob([text], { type: "text/csv;charset=utf-8" }), name)
}

function cell(value: unknown): string {
  if (typeof value === "number") return String(value)
  const text = value === null || value === undefined ? "" : String(value)
  const safe = /^(?:[\t\r\n]|[\s\ufeff]*[=+\-@＝＋－＠﹦﹢﹣﹫−])/.test(text) ? `'${text}` : text
  return `"${safe.replaceAll('"', '""')}"`
}
