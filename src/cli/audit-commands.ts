/** Commands for auditors. */
import type { CommandSpec } from "./command.ts"
import { isoTime } from "./option-values.ts"
import type { Page, Row } from "./render.ts"
import { isRow, renderResult, renderTable, rowsOf } from "./render.ts"
import { harmless } from "./terminal.ts"

const show: CommandSpec = {
  does: "operation",
  name: "audit show",
  summary: "show the facts of a stream",
  notes: [
    "Times are ISO 8601 in UTC. Personal fields are sealed unless --unseal is given.",
    "Amounts in facts are micros, millionths of a US dollar.",
  ],
  example: "audit show ledger-co_x7Kq2M --type Charged --since 2026-11-01T00:00:00Z",
  arguments: [
    { name: "STREAM", description: "the stream, such as ledger-<companyId>", field: "stream" },
  ],
  options: [
    { flags: "--type <type>", description: "only facts of this type" },
    { flags: "--key <key>", description: "only facts of this key, by id" },
    { flags: "--person <person>", description: "only facts of this person, by id" },
    { flags: "--since <time>", description: "only facts from this time on", parse: isoTime },
    { flags: "--unseal", description: "show personal fields" },
  ],
  render: (result, page) => {
    const events = isRow(result) ? rowsOf(result["events"]) : null
    if (events === null) return renderResult(result, page)
    return events.length === 0 ? "No facts.\n" : events.map(renderEvent).join("")
  },
}

/** A fact on two lines: where, what and when; then what it says. */
function renderEvent({ stream, revision, type, at, data }: Row): string {
  const head = `${String(stream)} ${String(revision)}  ${String(type)}  ${String(at)}`
  return `${harmless(head)}\n  ${harmless(JSON.stringify(data))}\n`
}

const verify: CommandSpec = {
  does: "operation",
  name: "audit verify",
  summary: "prove that everything stored holds; exit code 1 where something does not",
  notes: ["Looks at hash chains, the law of charges, open charges, accounts and read models."],
  example: "audit verify --company acme",
  options: [
    { flags: "--company <company>", description: "only this company's streams, by id or name" },
  ],
  isWell: (result) => isRow(result) && result["ok"] === true,
  render: renderVerdict,
}

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
  return `${renderTable(rows, page, "checks")}\n${verdict}: ${extent}.\n`
}

/** Commands for auditors. */
export const AUDIT_COMMANDS: readonly CommandSpec[] = [show, verify]
