/** Commands for auditors who check a history here, without a server. */
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
  summary: "check an export or a proof; needs nothing but the file",
  notes: ["Exit code 1 names the first place that does not hold: line, stream, revision."],
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
    const shown = found.kind === "export" ? renderExportSummary(found) : renderProofSummary(found)
    const note = found.isSignerKnown ? "" : ": compare it with the public key that you noted"
    const signer = `Signed by ${found.publicKeys.join(", ")}${note}`
    return `This ${found.kind} holds.\n${shown}${signer}.\n`
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
  statedOnly,
}: ProofSummary): string {
  const fields = renderFields(Object.entries({ company, chargeId, decided, events }))
  return `${fields}Stated, not proven: ${statedOnly}; audit replay derives it again.\n`
}

/** Replays where the events are, or here where other rules or a file are named. */
async function runReplayCommand(
  work: LocalCommandContext<z.infer<typeof ReplayInput>>,
): Promise<ReplayOutput> {
  const { company, rules, file } = work.input
  if (rules !== undefined || file !== undefined) {
    return (await import("./replay.ts")).runLocalReplay(work)
  }
  const asked = company === undefined ? {} : { company }
  return (await work.callOperation("audit replay", asked, async () => undefined)) as ReplayOutput
}

const replayCommand = localCommand({
  from: import.meta.url,
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
  input: ReplayInput,
  run: runReplayCommand,
  render: renderReplay,
})

/** What a replay found, and the first difference as a diff. */
function renderReplay(found: ReplayOutput, page: OutputPage): string {
  const { companies, facts, refusals, countedRefusals, differences, notJudged, first } = found
  const extent = renderFields(Object.entries({ companies, facts, refusals, countedRefusals }))
  if (found.rules !== undefined) {
    const unjudged = renderFields(Object.entries({ differences, notJudged }))
    return `${extent}${unjudged}${renderTable(found.others, page, "charges decided otherwise")}`
  }
  if (first === null) return `${extent}Every decision comes out the same.\n`
  const { stream, revision, chargeId, diff } = first
  const what = chargeId === null ? "" : `, the refusal of ${chargeId}`
  const count = differences === 1 ? "1 decision comes" : `${differences} decisions come`
  const says = `${count} out otherwise. The first: ${stream} revision ${revision}${what}`
  return `${extent}${[says, "- stored", "+ decided again", ...diff].map(escapeForTerminalOutput).join("\n")}\n`
}

/** Commands on whole histories. */
export const historyCommands: readonly OperatorCommand[] = [checkCommand, replayCommand]
