/** The checks of an audit that look at more than the events, each made whatever the others meet. */
import { AccessDenied, CorruptStream, Unavailable } from "../../adapters/eventstore/port.ts"
import { isConnectionFault } from "../../adapters/postgres/port.ts"
import type {
  ProjectionStatus,
  ReadModelVerification,
} from "../../adapters/postgres/projector/port.ts"
import { LEDGER_AGGREGATE } from "../../domain/charging/aggregates.ts"
import { pendingChargeIds } from "../../domain/charging/ledger-views.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { listUnbalancedCompanies } from "../../projections/charging/accounts.ts"
import type { PurchaseRow } from "../../projections/charging/purchases.ts"
import { listPendingPurchases } from "../../projections/charging/purchases.ts"
import { DELAYED_JOBS_PROJECTION } from "../../projections/kernel/jobs.ts"
import type { AdminPorts } from "../frame/operator/operation.ts"
import type { AuditCheck } from "./findings.ts"
import type { Metric } from "../frame/http/metrics.ts"

const JOBS_WAIT_MS = 5_000

/** An open charge, and the ledger that it is in. */
export interface PendingChargeRef {
  readonly chargeId: string
  readonly stream: string
}

/**
 * Makes a check. An error in it is its result: no check ends the others.
 *
 * @throws what says that a store cannot be reached, and the signal's reason
 */
async function runCheck(
  name: string,
  signal: AbortSignal,
  check: () => Promise<Pick<AuditCheck, "ok" | "detail">>,
): Promise<AuditCheck> {
  try {
    return { name, ...(await check()) }
  } catch (error) {
    signal.throwIfAborted()
    if (isOutage(error)) throw error
    const why = error instanceof Error ? error.message : String(error)
    return { name, ok: false, detail: `cannot be checked: ${why}` }
  }
}

/** Whether an error is about a store that cannot be reached, and says nothing of what is stored. */
function isOutage(error: unknown): boolean {
  const isOfEvents = error instanceof Unavailable || error instanceof AccessDenied
  return isOfEvents || isConnectionFault(error)
}

/** Checks beside those of the streams, in the order in which they are reported. */
export async function crossChecks(
  ports: Pick<AdminPorts, "projector" | "readAll" | "runner" | "store" | "jobs">,
  companyId: CompanyId | null,
  open: readonly PendingChargeRef[],
  signal: AbortSignal,
): Promise<readonly AuditCheck[]> {
  return [
    await runCheck("every open charge has somebody who ends it", signal, () =>
      checkChargeJobs(ports, open),
    ),
    await runCheck("every pending purchase has somebody who asks about it", signal, () =>
      checkPurchaseJobs(ports, companyId),
    ),
    await runCheck("accounts sum to zero", signal, async () => {
      const sums = await listUnbalancedCompanies(ports.readAll, companyId)
      const detail = sums.map((one) => `${one.company_id}: ${one.sum} micros`).join(", ")
      return { ok: sums.length === 0, detail: detail || "all do" }
    }),
  ]
}

/** Every open charge has a row of work that will end it. */
async function checkChargeJobs(
  ports: Pick<AdminPorts, "projector" | "runner" | "store" | "jobs">,
  open: readonly PendingChargeRef[],
) {
  // Work goes on meanwhile: a charge whose row is gone may have ended since its stream was read.
  await ports.projector.waitUntilWritten(await ports.store.head(), JOBS_WAIT_MS, [
    DELAYED_JOBS_PROJECTION,
  ])
  const names = new Set(await ports.jobs.listNames("reconcile-charge"))
  const orphans: string[] = []
  for (const { chargeId, stream } of open) {
    if (names.has(chargeId)) continue
    try {
      const isOpen = await ports.runner.read({ aggregate: LEDGER_AGGREGATE, stream }, (state) =>
        pendingChargeIds(state).includes(chargeId),
      )
      if (isOpen) orphans.push(`${chargeId} of ${stream}`)
    } catch (error) {
      if (!(error instanceof CorruptStream || error instanceof AccessDenied)) throw error
      orphans.push(`${chargeId} of ${stream}, which cannot be read: ${error.message}`)
    }
  }
  return { ok: orphans.length === 0, detail: orphans.join(", ") || `${open.length} open` }
}

/** Every pending purchase has a row of work that finds out what became of it. */
async function checkPurchaseJobs(
  ports: Pick<AdminPorts, "readAll" | "jobs">,
  companyId: CompanyId | null,
) {
  const before = await listPendingPurchases(ports.readAll, companyId)
  const names = new Set(await ports.jobs.listNames("pay-purchase"))
  // Work goes on meanwhile: a purchase whose row is gone may have ended since it was read.
  const now = new Set((await listPendingPurchases(ports.readAll, companyId)).map(idOfPurchase))
  const orphans = before.map(idOfPurchase).filter((id) => !names.has(id) && now.has(id))
  return { ok: orphans.length === 0, detail: orphans.join(", ") || `${before.length} pending` }
}

const idOfPurchase = ({ purchase_id }: PurchaseRow): string => purchase_id

/** What comparing a read model with a rebuild came to. */
export function readModelResult(
  { fault: met, tables, same }: ReadModelVerification,
  standing: ProjectionStatus | undefined,
): Pick<AuditCheck, "ok" | "detail"> {
  const fault = met ?? standing?.fault ?? null
  if (fault !== null) return { ok: false, detail: `stopped at ${fault}` }
  const differing = tables.filter((table) => table.live !== table.rebuilt)
  const detail =
    differing.length > 0
      ? differing.map(({ table, live, rebuilt }) => `${table}: live ${live}; rebuilt ${rebuilt}`)
      : tables.map(({ table, live }) => `${table} ${withoutChecksum(live)}`)
  return { ok: same, detail: detail.join(", ") }
}

/** How many rows a table has, of what is compared of it: where all is equal nobody needs the checksum. */
const withoutChecksum = (compared: string): string => compared.replace(/, checksum .*$/, "")

/** Each begins at nothing: of a series that begins at one nobody sees that it grew. */
const AUDIT_RESULTS = ["held", "broken"]

/** Audits, by what they found. */
export const auditsMetric: Metric = {
  name: "ledger_audits_total",
  help: "Audits (`audit verify`) that were carried out by this process, by what they found.",
  labels: ["result"],
  isCounter: true,
  read: async ({ counters }) => {
    const found = counters.read("audits")
    return AUDIT_RESULTS.map((result) => ({
      labels: { result },
      value: found.find(({ labels }) => labels["result"] === result)?.value ?? 0,
    }))
  },
}
