/** Commands for auditors who take a history away, and check it elsewhere. */
import type { CommandSpec, LocalCommand, LocalWork } from "../../frame/operator/cli/command.ts"
import { checkFile } from "../check-file.ts"
import { publicKeyText, someText } from "../../frame/operator/cli/option-values.ts"
import type { Page, Row } from "../../frame/operator/cli/render.ts"
import {
  isRow,
  renderFields,
  renderResult,
  renderTable,
  rowsOf,
} from "../../frame/operator/cli/render.ts"
import { replay } from "./replay.ts"
import { harmless } from "../../frame/operator/cli/terminal.ts"

const COMPANY_ONLY = {
  flags: "--company <company>",
  description: "only this company's, by id or name",
  parse: someText,
}
const PUBLIC_KEY = {
  flags: "--public-key <key>",
  description: "the key that must have signed it; default any, which is then shown",
  parse: publicKeyText,
}

const exportHistory: CommandSpec = {
  does: "operation",
  name: "audit export",
  summary: "write the raw streams into one file that can be checked anywhere",
  notes: [
    "NDJSON: every event with its stored texts, then the range of each stream, the signed head of " +
      "each tree, and a manifest. docs/verify.md has it byte by byte, with a script to check it.",
    "The same range gives the same bytes: --to takes the position of a head, such as that of an " +
      "earlier export. Personal fields stay sealed. The file appears whole or not at all.",
  ],
  example: "audit export --company acme --out acme.ndjson",
  hasFile: true,
  options: [
    COMPANY_ONLY,
    { flags: "--to <position>", description: "the last place; default all", parse: someText },
  ],
  render: (result, page) => {
    if (!isRow(result)) return ""
    const { file, events, streams, sha256, heads } = result
    const fields = Object.entries({ file, events, streams, sha256 })
    return renderFields(fields) + renderHeads(rowsOf(heads) ?? [], page)
  },
}

const showHead: CommandSpec = {
  does: "operation",
  name: "audit head",
  summary: "sign and show the head of each company's tree over all its events",
  notes: [
    "Note the public key and a head, away from here: whatever is changed later, `audit verify --head ROOT` " +
      "and every later export and proof show it. Heads are signed each UTC day by themselves.",
  ],
  example: "audit head --company acme",
  options: [COMPANY_ONLY],
  render: (result, page) => {
    if (!isRow(result)) return ""
    const heads = rowsOf(result["heads"]) ?? []
    return renderFields([["publicKey", result["publicKey"]]]) + renderHeads(heads, page)
  },
}

function renderHeads(heads: readonly Row[], page: Page): string {
  const rows = heads.map(({ tree, size, root, position, at }) => ({
    tree,
    size,
    root,
    position,
    at,
  }))
  return renderTable(rows, page, "heads")
}

const proof: CommandSpec = {
  does: "operation",
  name: "audit proof",
  summary: "write the proof of one charge, or of its refusal",
  notes: [
    "The event, what it was decided from, the way from each event to the signed root of the company's " +
      "tree, and from former heads to it. The public key alone is needed to check it.",
  ],
  example: "audit proof chg_4gVq9sT1aZkW9pVv0Yy3xJ --out proof.json",
  hasFile: true,
  arguments: [{ name: "CHARGE_ID", description: "the charge", field: "chargeId", parse: someText }],
  options: [COMPANY_ONLY],
}

const check: LocalCommand = {
  does: "local",
  name: "audit check",
  summary: "check an export or a proof; needs nothing but the file",
  notes: ["Exit code 1 names the first place that does not hold: line, stream, revision."],
  example: "audit check acme.ndjson --public-key 11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=",
  arguments: [{ name: "FILE", description: "the file", field: "file", parse: someText }],
  options: [PUBLIC_KEY],
  run: async ({ input, progress, signal }) => {
    const publicKey = typeof input["publicKey"] === "string" ? input["publicKey"] : null
    const path = String(input["file"])
    const found = await checkFile({ path, publicKey, progress, signal })
    return { ok: true, isSignerKnown: publicKey !== null, ...found }
  },
  render: (result, page) => {
    if (!isRow(result)) return renderResult(result, page)
    const {
      kind,
      publicKeys,
      heads: _heads,
      head: _head,
      ok: _ok,
      isSignerKnown,
      statedOnly,
      ...others
    } = result
    const signer = `Signed by ${Array.isArray(publicKeys) ? publicKeys.join(", ") : ""}`
    const note = isSignerKnown === true ? "" : ": compare it with the public key that you noted"
    const stated =
      typeof statedOnly === "string"
        ? `Stated, not proven: ${statedOnly}; audit replay derives it again.\n`
        : ""
    const fields = renderFields(Object.entries(others))
    return `This ${String(kind)} holds.\n${fields}${stated}${signer}${note}.\n`
  },
}

const replayAgain: LocalCommand = {
  does: "local",
  name: "audit replay",
  summary: "decide every yes and every no again, and compare",
  notes: [
    "The rules are run over each ledger's history; each refusal is decided again at the ledger revision " +
      "that it names. Exit code 1 where one comes out otherwise: the first is shown as a diff.",
    "--rules takes a folder that exports a ledger decider, or a commit of the checkout you stand in: it " +
      "lists the charges that those rules would have decided otherwise. They run in this process.",
    "--file replays an export, which is checked on the way; nothing else is needed.",
  ],
  example: "audit replay --company acme",
  options: [
    COMPANY_ONLY,
    { flags: "--rules <path>", description: "other rules: a folder, or a commit", parse: someText },
    { flags: "--file <file>", description: "the history of an export", parse: someText },
    PUBLIC_KEY,
  ],
  run: (work: LocalWork) => replay(work),
  isWell: (result) => isRow(result) && result["ok"] === true,
  render: renderReplay,
}

/** What a replay found, and the first difference as a diff. */
function renderReplay(result: unknown, page: Page): string {
  if (!isRow(result)) return renderResult(result, page)
  const { companies, facts, refusals, countedRefusals, differences, first, others } = result
  const extent = renderFields(Object.entries({ companies, facts, refusals, countedRefusals }))
  if (typeof result["rules"] === "string") {
    const rows = rowsOf(others) ?? []
    const unjudged = renderFields(Object.entries({ differences, notJudged: result["notJudged"] }))
    return `${extent}${unjudged}${renderTable(rows, page, "charges decided otherwise")}`
  }
  if (!isRow(first)) return `${extent}Every decision comes out the same.\n`
  const { stream, revision, chargeId, diff } = first
  const what = typeof chargeId === "string" ? `, the refusal of ${chargeId}` : ""
  const says = `${differences === 1 ? "1 decision comes" : `${String(differences)} decisions come`} out otherwise. The first: ${String(stream)} revision ${String(revision)}${what}`
  const lines = Array.isArray(diff) ? diff.map(String) : []
  return `${extent}${[says, "- stored", "+ decided again", ...lines].map(harmless).join("\n")}\n`
}

/** Commands on whole histories. */
export const HISTORY_COMMANDS: readonly CommandSpec[] = [
  exportHistory,
  showHead,
  proof,
  check,
  replayAgain,
]
