/** Proving that everything that is stored holds. */
import { LEDGER } from "../../../domain/charging/aggregates.ts"
import { z } from "zod"
import { openCharges } from "../../../domain/charging/ledger-views.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { AuditCheck } from "../findings.ts"
import { NO_STREAM } from "../findings.ts"
import { paceTo } from "../pace.ts"
import { WORK_ROWS, skippedText } from "../skipped.ts"
import { auditStreams } from "../streams.ts"
import type { PurchaseRow } from "../../../projections/charging/purchases.ts"
import { pendingPurchases } from "../../../projections/charging/purchases.ts"
import { unbalanced } from "../../../projections/charging/accounts.ts"
import { LATE_FOLLOW_UPS } from "../../../projections/kernel/follow-ups.ts"
import { streamOperations } from "./audit-streams.ts"
import type { Page } from "../../frame/operator/cli/render.ts"
import { renderTable } from "../../frame/operator/cli/render.ts"
import { harmless } from "../../frame/operator/cli/terminal.ts"
import { company, findCompany, showWrites } from "../../frame/operator/inputs.ts"
import { FILES_WRITTEN } from "../../frame/operator/console-own.ts"
import type { AdminContext, AdminOperation } from "../../frame/operator/operation.ts"
import { operation } from "../../frame/operator/operation.ts"
import { verifyProjections } from "../../frame/operator/own/projections.ts"

const OWN_WAIT_MS = 5_000

/** A hash as an auditor notes it. */
const hash = z
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
  isPatient: true,
  isVerdict: true,
  input: z.object({
    company: company.optional().meta({ description: "only this company's streams, by id or name" }),
    head: hash
      .optional()
      .meta({ description: "a hash from an earlier verify, head or export, which must be found" }),
  }),
  console: { permission: "See billing", rate: FILES_WRITTEN },
  run: async (context, { company: named, head = null }) => {
    const companyId = named === undefined ? null : await findCompany(context.ports, named)
    const found = await verifyAll(context, companyId, head)
    context.ports.counts.add("audits", { result: found.ok ? "held" : "broken" })
    return found
  },
  render: renderVerdict,
})

/** Verifies everything, or one company. @param head a hash that an auditor noted, to be found again */
export async function verifyAll(
  context: AdminContext,
  companyId: CompanyId | null,
  head: string | null = null,
) {
  const { ports, progress, signal, within } = context
  await ports.settle()
  await showWrites(ports)
  const pace = paceTo(await ports.store.head(), progress)
  const streams = await auditStreams(ports, { companyId, head, pace, signal })
  const checks: AuditCheck[] = [...streams.checks]
  const owned = await chargesWithoutOwner(context, streams.openCharges)
  checks.push(owned, await purchasesWithoutOwner(context, companyId))
  const sums = await unbalanced(ports.readAll)
  checks.push({
    name: "accounts sum to zero",
    ok: sums.length === 0,
    detail: sums.map((one) => `${one.company_id}: ${one.sum} micros`).join(", ") || "all do",
  })
  // Read models are those of all companies: folding them anew is for whoever runs the installation.
  const verified = within === undefined ? await verifyProjections(context) : []
  const standing = await ports.projector.status()
  for (const one of verified) {
    const differing = one.tables.filter((table) => table.live !== table.rebuilt)
    const stopped = standing.find(({ name }) => name === one.name)?.fault
    const fault = one.fault ?? stopped ?? null
    checks.push({
      name: `read model ${one.name} = rebuild`,
      ok: one.same && fault === null,
      detail:
        (fault === null ? "" : `stopped at ${fault}`) ||
        differing
          .map((table) => `${table.table}: live ${table.live}; rebuilt ${table.rebuilt}`)
          .join(", ") ||
        one.tables.map((table) => `${table.table} ${rowsOf(table.live)}`).join(", "),
    })
  }
  const ok = checks.every((check) => check.ok)
  const { firstBroken, events, heads, others } = streams
  const skipped = [...streams.skipped, WORK_ROWS]
  return { ok, checks, firstBroken, streams: streams.streams, events, others, skipped, heads }
}

/** How many rows a table has, of what is compared of it: where all is equal nobody needs the checksum. */
const rowsOf = (compared: string): string => compared.replace(/, checksum .*$/, "")

/** Every open charge has a row of work that will end it. */
async function chargesWithoutOwner(
  { ports }: AdminContext,
  open: readonly { readonly chargeId: string; readonly stream: string }[],
): Promise<AuditCheck> {
  // Work goes on meanwhile: a charge whose row is gone may have ended since its stream was read.
  await ports.projector.waitFor(await ports.store.head(), OWN_WAIT_MS, [LATE_FOLLOW_UPS])
  const names = new Set(await ports.work.names("end-charge"))
  const orphans: string[] = []
  for (const { chargeId, stream } of open) {
    if (names.has(chargeId)) continue
    const isOpen = await ports.runner.read({ aggregate: LEDGER, stream }, (state) =>
      openCharges(state).includes(chargeId),
    )
    if (isOpen) orphans.push(`${chargeId} of ${stream}`)
  }
  return {
    name: "every open charge has somebody who ends it",
    ok: orphans.length === 0,
    detail: orphans.join(", ") || `${open.length} open`,
  }
}

/** Every pending purchase has a row of work that finds out what became of it. */
async function purchasesWithoutOwner(
  { ports }: AdminContext,
  companyId: CompanyId | null,
): Promise<AuditCheck> {
  const before = await pendingPurchases(ports.readAll, companyId)
  const names = new Set(await ports.work.names("pay-purchase"))
  // Work goes on meanwhile: a purchase whose row is gone may have ended since it was read.
  const now = new Set((await pendingPurchases(ports.readAll, companyId)).map(idOf))
  const orphans = before.map(idOf).filter((id) => !names.has(id) && now.has(id))
  return {
    name: "every pending purchase has somebody who asks about it",
    ok: orphans.length === 0,
    detail: orphans.join(", ") || `${before.length} pending`,
  }
}

const idOf = ({ purchase_id }: PurchaseRow): string => purchase_id

/** What an audit found. */
export type Verdict = Awaited<ReturnType<typeof verifyAll>>

/** The checks of an audit as a table, and what they come to. */
export function renderVerdict(found: Verdict, page: Page): string {
  const rows = found.checks.map(({ name, ok, detail }) => ({
    check: name,
    holds: ok ? "yes" : "NO",
    detail,
  }))
  const extent = `${found.events} facts in ${found.streams} streams`
  const verdict = found.ok ? "Everything holds" : "Something does not hold"
  const left = othersIn(found) + skippedText(found.skipped)
  return `${renderTable(rows, page, "checks")}\n${verdict}: ${extent}.\n${left}${brokenAt(found)}`
}

const MOST_NAMED = 5

/** What other programs keep in the same store, in a line; nothing where there is none of it. */
function othersIn({ others }: Verdict): string {
  if (others.events === 0) return ""
  const byName = Object.entries(others.byName)
  const named = byName.slice(0, MOST_NAMED).map(([name, events]) => `${name} (${events})`)
  const extent = `${others.events} events in ${others.streams} streams`
  const more = byName.length > MOST_NAMED ? ", …" : ""
  return `${harmless(`Left alone: ${extent} of other programs: ${named.join(", ")}${more}`)}\n`
}

/** The first broken place, in lines. */
function brokenAt({ firstBroken: first }: Verdict): string {
  if (first === null) return ""
  const { stream, revision, check, expected, found } = first
  const lines = [
    stream === NO_STREAM
      ? `First in the whole history (${check})`
      : `First at ${stream} revision ${revision} (${check})`,
    `  expected ${expected}`,
    `  found    ${found}`,
  ]
  return lines.map((line) => `${harmless(line)}\n`).join("")
}

/** Operations of auditors. */
export const auditOperations: readonly AdminOperation[] = [...streamOperations, verify]
