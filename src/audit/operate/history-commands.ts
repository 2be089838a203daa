/** Commands for auditors who check a history here, without a server. */
import { z } from "zod"
import type { Command } from "../../frame/operator/commands.ts"
import { localCommand } from "../../frame/operator/commands.ts"
import { checkFile } from "../check-file.ts"
import type { Page } from "../../frame/operator/cli/render.ts"
import {
  isRow,
  renderFields,
  renderResult,
  renderTable,
  rowsOf,
} from "../../frame/operator/cli/render.ts"
import { PUBLIC_KEY, Replay } from "./history-inputs.ts"
import { replay } from "./replay.ts"
import { harmless } from "../../frame/operator/cli/terminal.ts"

const check = localCommand({
  name: "audit check",
  summary: "check an export or a proof; needs nothing but the file",
  notes: ["Exit code 1 names the first place that does not hold: line, stream, revision."],
  example: "audit check acme.ndjson --public-key 11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=",
  input: z.object({
    file: z.string().meta({ description: "the file", argument: "FILE", form: "text" }),
    publicKey: PUBLIC_KEY,
  }),
  run: async ({ input: { file: path, publicKey = null }, progress, signal }) => {
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
})

const replayAgain = localCommand({
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
  isVerdict: true,
  input: Replay,
  run: replay,
  render: renderReplay,
})

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
export const historyCommands: readonly Command[] = [check, replayAgain]
