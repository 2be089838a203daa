/** The operation `audit verify`. */
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

/** A hash that an auditor wrote down. */
const hashOption = z
  .string()
  .regex(/^[0-9a-f]{64}$/, "must be 64 hexadecimal characters")
  .meta({ form: "hash" })

const verify = operation({
  name: "audit verify",
  summary: "verify everything stored; exit code 1 if a check fails",
  notes: [
    "Recomputes every hash, decides every fact of each ledger again, and compares read models with a rebuild.",
    "Checks that signed heads still belong to this history; --head looks for one that you wrote down.",
    "Reads each stream in global order and by itself. Streams of other programs are counted and not checked.",
    "Lists what was not checked, and why.",
    "If a check fails, shows the first discrepancy: stream, revision, expected, found.",
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

/**
 * Verifies everything, or one company. @param head a hash that an auditor wrote down, to be found
 * again
 */
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
    // Rebuilding the read models covers all companies, so only the installation's operator does it.
    ...(companyScope === undefined ? await readModelChecks(context, companyId, end) : []),
  ]
  const ok = checks.every((check) => check.ok)
  const { firstBroken, events, heads, foreignStreams } = streams
  const skipped = [...streams.skipped, JOBS_SKIPPED]
  return {
    ok,
    checks,
    firstBroken,
    streams: streams.streams,
    events,
    foreignStreams,
    skipped,
    heads,
  }
}

/** Checks that each read model equals its rebuild, for one company or all. */
async function readModelChecks(
  context: AdminContext,
  companyId: CompanyId | null,
  end: Position,
): Promise<readonly AuditCheck[]> {
  const { projector } = context.ports
  const meter = openProgressMeter(end, (message) => context.progress(`read models: ${message}`))
  let folded = 0
  const found = await verifyProjections(context, null, companyId, (events, position) => {
    meter.advance(position, events - folded)
    folded = events
  })
  const statuses = await projector.status()
  return found.map((one) => {
    const status = statuses.find(({ name }) => name === one.name)
    return { name: `read model ${one.name} = rebuild`, ...readModelResult(one, status) }
  })
}

export type AuditReport = Awaited<ReturnType<typeof runAudit>>

/** Renders an audit: the table of checks, then the verdict. */
export function renderAuditReport(found: AuditReport, page: OutputPage): string {
  const rows = found.checks.map(({ name, ok, detail }) => ({
    check: name,
    holds: ok ? "yes" : "NO",
    detail,
  }))
  const extent = `${found.events} facts in ${found.streams} streams`
  const verdict = found.ok ? "Everything is valid" : "A check failed"
  const unchecked = renderForeignStreams(found) + formatSkipped(found.skipped)
  return `${renderTable(rows, page, "checks")}\n${verdict}: ${extent}.\n${unchecked}${renderFirstBroken(found)}`
}

const MAX_STREAMS_NAMED = 5

/** One line about streams of other programs in the same store; empty if there are none. */
function renderForeignStreams({ foreignStreams }: AuditReport): string {
  const { events, streams } = foreignStreams
  if (events === 0) return ""
  const byName = Object.entries(foreignStreams.byName)
  const named = byName.slice(0, MAX_STREAMS_NAMED).map(([name, count]) => `${name} (${count})`)
  const more = byName.length > MAX_STREAMS_NAMED ? ", …" : ""
  return `${escapeForTerminalOutput(`Not checked: ${events} events in ${streams} streams of other programs: ${named.join(", ")}${more}`)}\n`
}

/** The first discrepancy, in lines. */
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

export const auditOperations: readonly AdminOperation[] = [...streamOperations, verify]
