/** Local commands for auditors, who check a history without a server. */
import { z } from "zod"
import type { OperatorCommand, LocalCommandContext } from "../../frame/operator/commands.ts"
import { localCommand } from "../../frame/operator/commands.ts"
import type { HistorySummary } from "../check-history.ts"
import type { ProofSummary } from "../check-proof.ts"
import type { OutputPage } from "../../frame/operator/cli/render.ts"
import { renderFields, renderTable } from "../../frame/operator/cli/render.ts"
import type { ReplayOutput } from "./replay.ts"
import { PUBLIC_KEY_OPTION, ReplayInput } from "./history-inputs.ts"
import { escapeForTerminalOutput } from "../../frame/operator/cli/terminal.ts"

const checkCommand = localCommand({
  from: import.meta.url,
  name: "audit check",
  summary: "check an export or a proof; needs only the file",
  notes: ["On exit code 1 the first discrepancy is shown: line, stream, revision."],
  example: "audit check acme.ndjson --public-key 11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=",
  input: z.object({
    file: z.string().meta({ description: "the file", argument: "FILE", form: "text" }),
    publicKey: PUBLIC_KEY_OPTION,
  }),
  run: async ({ input: { file: path, publicKey = null }, progress, signal }) => {
    const { checkFile } = await import("../check-file.ts")
    const found = await checkFile({ path, publicKey, progress, signal })
    return { ok: true, isSignerKnown: publicKey !== null, ...found }
  },
  render: (found) => {
    const summary = found.kind === "export" ? renderExportSummary(found) : renderProofSummary(found)
    const note = found.isSignerKnown ? "" : ": compare it with the public key that you wrote down"
    const signer = `Signed by ${found.publicKeys.join(", ")}${note}`
    return `This ${found.kind} is valid.\n${summary}${signer}.\n`
  },
})

function renderExportSummary({ company, events, streams }: HistorySummary): string {
  return renderFields(Object.entries({ company, events, streams }))
}

function renderProofSummary({
  company,
  chargeId,
  decided,
  events,
  unproven,
}: ProofSummary): string {
  const fields = renderFields(Object.entries({ company, chargeId, decided, events }))
  return `${fields}Stated, not proven: ${unproven}; audit replay derives it.\n`
}

/** Replays on the server's stores, or in this process if other rules or a file are named. */
async function runReplayCommand(
  context: LocalCommandContext<z.infer<typeof ReplayInput>>,
): Promise<ReplayOutput> {
  const { company, rules, file } = context.input
  if (rules !== undefined || file !== undefined) {
    return (await import("./replay.ts")).runLocalReplay(context)
  }
  const input = company === undefined ? {} : { company }
  return (await context.callOperation("audit replay", input, async () => undefined)) as ReplayOutput
}

const replayCommand = localCommand({
  from: import.meta.url,
  name: "audit replay",
  summary: "decide every charge and refusal again, and compare with what is stored",
  notes: [
    "Runs the rules over each ledger's history; each refusal is decided again at the ledger revision " +
      "it names. Exit code 1 if a decision differs: the first one is shown as a diff.",
    "--rules takes a folder that exports a ledger decider, or a commit of the checkout in the working folder; " +
      "it lists the charges that those rules would have decided differently. They run in this process.",
    "--file replays an export, which is checked first; nothing else is needed.",
  ],
  example: "audit replay --company acme",
  isVerdict: true,
  input: ReplayInput,
  run: runReplayCommand,
  render: renderReplay,
})

/** Renders the result of a replay, with the first difference as a diff. */
function renderReplay(found: ReplayOutput, page: OutputPage): string {
  const { companies, facts, refusals, countedRefusals, differences, undecidable, first } = found
  const extent = renderFields(Object.entries({ companies, facts, refusals, countedRefusals }))
  if (found.rules !== undefined) {
    const counts = renderFields(Object.entries({ differences, undecidable }))
    return `${extent}${counts}${renderTable(found.others, page, "charges decided differently")}`
  }
  if (first === null) return `${extent}Every decision is the same.\n`
  const { stream, revision, chargeId, diff } = first
  const subject = chargeId === null ? "" : `, the refusal of ${chargeId}`
  const count = differences === 1 ? "1 decision differs" : `${differences} decisions differ`
  const title = `${count}. The first: ${stream} revision ${revision}${subject}`
  return `${extent}${[title, "- stored", "+ decided again", ...diff].map(escapeForTerminalOutput).join("\n")}\n`
}

export const historyCommands: readonly OperatorCommand[] = [checkCommand, replayCommand]
