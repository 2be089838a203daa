/** What an audit found, for people. */
import type { Page, Row } from "../../frame/operator/cli/render.ts"
import { isRow, renderResult, renderTable, rowsOf } from "../../frame/operator/cli/render.ts"
import { harmless } from "../../frame/operator/cli/terminal.ts"

/** The checks of an audit as a table, and what they come to. */
export function renderVerdict(result: unknown, page: Page): string {
  const checks = isRow(result) ? rowsOf(result["checks"]) : null
  if (!isRow(result) || checks === null) return renderResult(result, page)
  const rows = checks.map(({ name, ok, detail }) => ({
    check: name,
    holds: ok === true ? "yes" : "NO",
    detail,
  }))
  const extent = `${String(result["events"])} facts in ${String(result["streams"])} streams`
  const verdict = result["ok"] === true ? "Everything holds" : "Something does not hold"
  const left = othersIn(result)
  return `${renderTable(rows, page, "checks")}\n${verdict}: ${extent}.\n${left}${brokenAt(result)}`
}

const MOST_NAMED = 5

/** What other programs keep in the same store, in a line; nothing where there is none of it. */
function othersIn({ others }: Row): string {
  if (!isRow(others) || others["events"] === 0) return ""
  const byName = Object.entries(isRow(others["byName"]) ? others["byName"] : {})
  const named = byName.slice(0, MOST_NAMED).map(([name, events]) => `${name} (${String(events)})`)
  const extent = `${String(others["events"])} events in ${String(others["streams"])} streams`
  const more = byName.length > MOST_NAMED ? ", …" : ""
  return `${harmless(`Left alone: ${extent} of other programs: ${named.join(", ")}${more}`)}\n`
}

/** The first broken place, in lines. */
function brokenAt({ firstBroken: first }: Row): string {
  if (!isRow(first)) return ""
  const { stream, revision, check, expected, found } = first
  const lines = [
    stream === ""
      ? `First in the whole history (${String(check)})`
      : `First at ${String(stream)} revision ${String(revision)} (${String(check)})`,
    `  expected ${String(expected)}`,
    `  found    ${String(found)}`,
  ]
  return lines.map((line) => `${harmless(line)}\n`).join("")
}
