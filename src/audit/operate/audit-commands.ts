/** Commands for auditors. */
import type { CommandSpec, OptionSpec } from "../../frame/operator/cli/command.ts"
import {
  countingNumber,
  hashText,
  isoTime,
  revisionNumber,
  someText,
} from "../../frame/operator/cli/option-values.ts"
import type { Page, Row } from "../../frame/operator/cli/render.ts"
import { isRow, renderResult, renderTable, rowsOf } from "../../frame/operator/cli/render.ts"
import { harmless } from "../../frame/operator/cli/terminal.ts"

/** Which facts are meant. */
const FILTERS: readonly OptionSpec[] = [
  { flags: "--type <type>", description: "only facts of this type" },
  { flags: "--key <key>", description: "only facts by or about this key, by id" },
  { flags: "--person <person>", description: "only facts by or about this person, by id" },
  { flags: "--since <time>", description: "only facts from this time on", parse: isoTime },
  { flags: "--until <time>", description: "only facts before this time", parse: isoTime },
]

const show: CommandSpec = {
  does: "operation",
  name: "audit show",
  summary: "show the facts of a stream",
  notes: [
    "Times are ISO 8601 in UTC. Personal fields are sealed unless --unseal is given.",
    "Amounts in facts are micros, millionths of a US dollar.",
    "At most 100,000 are shown at a time; --from goes on where the last page ended.",
  ],
  example: "audit show ledger-co_x7Kq2M --type Charged --since 2026-11-01T00:00:00Z",
  arguments: [
    { name: "STREAM", description: "the stream, such as ledger-<companyId>", field: "stream" },
  ],
  options: [
    ...FILTERS,
    {
      flags: "--from <revision>",
      description: "only from this revision on",
      parse: revisionNumber,
    },
    { flags: "--limit <number>", description: "at most so many", parse: countingNumber },
    { flags: "--unseal", description: "show personal fields, as far as their keys are there" },
  ],
  render: (result, page) => {
    const events = isRow(result) ? rowsOf(result["events"]) : null
    if (!isRow(result) || events === null) return renderResult(result, page)
    const text = events.length === 0 ? "No facts.\n" : events.map(renderEvent).join("")
    const { next } = result
    return typeof next === "number" ? `${text}There are more: go on with --from ${next}.\n` : text
  },
}

const streams: CommandSpec = {
  does: "operation",
  name: "audit streams",
  summary: "list the streams, or those with such facts, by name",
  notes: ["The facts of a stream that pass are counted; its end is that of the last of them."],
  example: "audit streams --company acme --type ChargeRefused",
  options: [
    { flags: "--company <company>", description: "only this company's, by id or name" },
    ...FILTERS,
    { flags: "--after <stream>", description: "only those behind this name", parse: someText },
    { flags: "--limit <number>", description: "at most so many", parse: countingNumber },
  ],
  render: (result, page) => {
    const rows = isRow(result) ? rowsOf(result["streams"]) : null
    if (!isRow(result) || rows === null) return renderResult(result, page)
    const table = renderTable(rows, page, "streams")
    const { next } = result
    return typeof next === "string" ? `${table}There are more: --after ${next}\n` : table
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
  notes: [
    "Recomputes every hash, decides every fact of each ledger again, and compares read models with a rebuild.",
    "Heads that were signed of this history must be of it still; --head looks for one that you noted.",
    "Each stream is read among all and by itself; streams of other programs are left alone, and counted.",
    "Where something does not hold, the first broken place is named: stream, revision, expected, found.",
  ],
  example: "audit verify --company acme",
  options: [
    { flags: "--company <company>", description: "only this company's streams, by id or name" },
    {
      flags: "--head <hash>",
      description: "a hash from an earlier verify, head or export, which must be found",
      parse: hashText,
    },
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

/** Commands for auditors. */
export const AUDIT_COMMANDS: readonly CommandSpec[] = [show, streams, verify]
