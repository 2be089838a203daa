/** Renders answers for people: `key: value` lines and tables. */
import Table from "cli-table3"
import { formatMoney } from "../../../../domain/kernel/money.ts"
import type { ResultRow } from "../protocol.ts"
import { isResultRow } from "../protocol.ts"
import type { Terminal } from "./terminal.ts"
import { escapeForTerminalOutput } from "./terminal.ts"

/** The width of the output, and whether it is a terminal. */
export type OutputPage = Pick<Terminal, "isTTY" | "columns">

const EMPTY_VALUE = "-"
const PLAIN_CHARS = {
  top: "",
  "top-mid": "",
  "top-left": "",
  "top-right": "",
  bottom: "",
  "bottom-mid": "",
  "bottom-left": "",
  "bottom-right": "",
  left: "",
  "left-mid": "",
  mid: "",
  "mid-mid": "",
  right: "",
  "right-mid": "",
  middle: "  ",
}

/** Returns a value as rows if it is a list of objects; else null. */
function rowsOf(value: unknown): readonly ResultRow[] | null {
  return Array.isArray(value) && value.every(isResultRow) ? value : null
}

/** Renders any answer: plain fields as lines, lists of objects as tables. Ends with a line feed. */
export function renderResult(result: unknown, page: OutputPage): string {
  if (!isResultRow(result)) return `${formatValue("", result)}\n`
  const lines: [string, unknown][] = []
  const tables: string[] = []
  for (const [name, value] of flattenFields(result)) {
    const rows = rowsOf(value)
    if (rows === null || (rows.length === 0 && Object.keys(result).length > 1)) {
      lines.push([name, value])
    } else tables.push(renderTable(rows, page, labelOf(name)))
  }
  return renderFields(lines) + tables.join("")
}

/** Renders fields as `key: value` lines, with micros as dollars. */
export function renderFields(fields: readonly (readonly [string, unknown])[]): string {
  return fields.map(([name, value]) => `${labelOf(name)}: ${formatValue(name, value)}\n`).join("")
}

/** Renders rows as a table, or as blocks of lines if a terminal is too narrow. */
export function renderTable(listed: readonly object[], page: OutputPage, what: string): string {
  if (listed.length === 0) return `No ${what}.\n`
  const rows = listed as readonly ResultRow[]
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))]
  const cells = rows.map((row) => names.map((name) => formatValue(name, row[name])))
  const table = new Table({
    head: names.map(labelOf),
    style: { head: [], border: [], compact: true, ...(page.isTTY ? {} : NO_PADDING) },
    ...(page.isTTY ? {} : { chars: PLAIN_CHARS }),
  })
  table.push(...cells)
  if (page.isTTY && table.width > page.columns) {
    return rows.map((row) => renderFields(names.map((name) => [name, row[name]]))).join("\n")
  }
  return `${table.toString().replaceAll(/ +$/gm, "")}\n`
}

const NO_PADDING = { "padding-left": 0, "padding-right": 0 }

/** Flattens nested fields to paths: `card.status`. */
function flattenFields(row: ResultRow, prefix = ""): readonly (readonly [string, unknown])[] {
  return Object.entries(row).flatMap(([name, value]) =>
    isResultRow(value)
      ? flattenFields(value, `${prefix}${name}.`)
      : [[`${prefix}${name}`, value] as const],
  )
}

/** Returns a field's label: `remainingMicros` becomes "remaining", with the value in dollars. */
function labelOf(name: string): string {
  return name
    .replace(/(?<=.)Micros$/, "")
    .replaceAll(/([a-z\d])([A-Z])/g, (_, before: string, letter: string) => {
      return `${before} ${letter.toLowerCase()}`
    })
}

function formatValue(name: string, value: unknown): string {
  if (value === null || value === undefined) return EMPTY_VALUE
  if (typeof value === "boolean") return value ? "yes" : "no"
  if (typeof value === "number" && name.endsWith("Micros")) return formatMoney(value)
  if (Array.isArray(value) && !value.some((one) => typeof one === "object")) {
    return value.length === 0 ? EMPTY_VALUE : value.map((one) => formatValue(name, one)).join(", ")
  }
  const text = typeof value === "string" ? value : JSON.stringify(value)
  return escapeForTerminalOutput(text).replaceAll("\n", "\\n")
}
