/** Proving that everything that is stored holds. */
import { z } from "zod"
import type { Position } from "../../../adapters/eventstore/port.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { crossChecks, readModelResult } from "../cross-checks.ts"
import type { AuditCheck } from "../findings.ts"
import { WHOLE_HISTORY, openProgressMeter } from "../findings.ts"
import { formatSkipped, JOBS_SKIPPED } from "../expected-streams.ts"
import { auditStreams } from "../stream-audit.ts"
import { streamOperations } from "./audit-streams.ts"
import type { OutputPage } from "../../frame/operator/cli/render.ts"
import { renderTable } from "../../frame/operator/cli/render.ts"
import { escapeForTerminalOutput } from "../../frame/operator/cli/terminal.ts"
import { companyInput, findCompany, waitForOwnWrites } from "../../frame/operator/inputs.ts"
import type { AdminContext, AdminOperation } from "../../frame/operator/operation.ts"
import { CONSOLE_FILE_RATE_LIMIT, operation } from "../../frame/operator/operation.ts"
import { verifyProjections } from "../../operations/projections.ts"

/** A hash as an auditor notes it. */
const hashOption = z
  .string()
  .regex(/^[0-9a-f]{64}$/, "must be 64 hexadecimal characters")
  .meta({ form: "hash" })

const verify = operation({
  name: "audit verify",
  summary: "prove that everything stored holds; exit code 1 where something does not",
  notes: [
    "Recomputes every hash, decides every fact of each ledger again, and compares read models with a rebuild.",
    "Heads that were signed of this history must be of it still; --head looks for one that you noted.",
    "Each stream is read among all and by itself; streams of other programs are left alone, and counted.",
    "What it did not look at is named as well, and why.",
    "Where something does not hold, the first broken place is named: stream, revision, expected, found.",
  ],
  example: "audit verify --company acme",
  isLongRunning: true,
  isVerdict: true,
  input: z.object({
    company: companyInput
      .optional()
      .meta({ description: "only this company's streams, by id or name" }),
    head: hashOption
      .optional()
      .meta({ description: "a hash from an earlier verify, head or export, which must be found" }),
  }),
  consoleAccess: { permission: "See billing", rateLimit: CONSOLE_FILE_RATE_LIMIT },
  run: async (context, { company: named, head = null }) => {
    const companyId = named === undefined ? null : await findCompany(context.ports, named)
    const found = await runAudit(context, companyId, head)
    context.ports.counters.increment("audits", { result: found.ok ? "held" : "broken" })
    return found
  },
  render: renderAuditReport,
})

/** Verifies everything, or one company. @param head a hash that an auditor noted, to be found again */
export async function runAudit(
  context: AdminContext,
  companyId: CompanyId | null,
  head: string | null = null,
) {
  const { ports, progress, signal, companyScope } = context
  await ports.flush()
  await waitForOwnWrites(ports)
  const end = await ports.store.head()
  const meters = {
    all: openProgressMeter(end, (message) => progress(`all streams: ${message}`)),
    each: (share: () => number) =>
      openProgressMeter(share, (message) => progress(`each stream by itself: ${message}`)),
  }
  const streams = await auditStreams(ports, { companyId, head, meters, signal })
  const checks = [
    ...streams.checks,
    ...(await crossChecks(ports, companyId, streams.pendingCharges, signal)),
    // Read models are those of all companies: folding them again is for the installation's operator.
    ...(companyScope === undefined ? await readModelChecks(context, companyId, end) : []),
  ]
  const ok = checks.every((check) => check.ok)
  const { firstBroken, events, heads, others } = streams
  const skipped = [...streams.skipped, JOBS_SKIPPED]
  return { ok, checks, firstBroken, streams: streams.streams, events, others, skipped, heads }
}

/** Each read model is what folding gives, of one company or of all. */
async function readModelChecks(
  context: AdminContext,
  companyId: CompanyId | null,
  end: Position,
): Promise<readonly AuditCheck[]> {
  const { projector } = context.ports
  const pace = openProgressMeter(end, (message) => context.progress(`read models: ${message}`))
  let folded = 0
  const found = await verifyProjections(context, null, companyId, (events, position) => {
    pace.advance(position, events - folded)
    folded = events
  })
  const standing = await projector.status()
  return found.map((one) => {
    const status = standing.find(({ name }) => name === one.name)
    return { name: `read model ${one.name} = rebuild`, ...readModelResult(one, status) }
  })
}

/** What an audit found. */
export type AuditReport = Awaited<ReturnType<typeof runAudit>>

/** The checks of an audit as a table, and what they come to. */
export function renderAuditReport(found: AuditReport, page: OutputPage): string {
  const rows = found.checks.map(({ name, ok, detail }) => ({
    check: name,
    holds: ok ? "yes" : "NO",
    detail,
  }))
  const extent = `${found.events} facts in ${found.streams} streams`
  const verdict = found.ok ? "Everything holds" : "Something does not hold"
  const left = renderForeignStreams(found) + formatSkipped(found.skipped)
  return `${renderTable(rows, page, "checks")}\n${verdict}: ${extent}.\n${left}${renderFirstBroken(found)}`
}

const MAX_STREAMS_NAMED = 5

/** What other programs keep in the same store, in a line; nothing where there is none of it. */
function renderForeignStreams({ others }: AuditReport): string {
  if (others.events === 0) return ""
  const byName = Object.entries(others.byName)
  const named = byName.slice(0, MAX_STREAMS_NAMED).map(([name, events]) => `${name} (${events})`)
  const extent = `${others.events} events in ${others.streams} streams`
  const more = byName.length > MAX_STREAMS_NAMED ? ", …" : ""
  return `${escapeForTerminalOutput(`Left alone: ${extent} of other programs: ${named.join(", ")}${more}`)}\n`
}

/** The first broken place, in lines. */
function renderFirstBroken({ firstBroken: first }: AuditReport): string {
  if (first === null) return ""
  const { stream, revision, check, expected, found } = first
  const lines = [
    stream === WHOLE_HISTORY
      ? `First in the whole history (${check})`
      : `First at ${stream} revision ${revision} (${check})`,
    `  expected ${expected}`,
    `  found    ${found}`,
  ]
  return lines.map((line) => `${escapeForTerminalOutput(line)}\n`).join("")
}

/** Operations of auditors. */
export const auditOperations: readonly AdminOperation[] = [...streamOperations, verify]
