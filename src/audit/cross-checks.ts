/** Checks of an audit that need more than the events. Each runs even if another fails. */
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

export interface PendingChargeRef {
  readonly chargeId: string
  readonly stream: string
}

/**
 * Runs a check. An error in it becomes its result, so that the other checks run.
 *
 * @throws an error of a store that cannot be reached, and the signal's reason
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

/**
 * Whether an error means that a store cannot be reached, and says nothing about the stored data.
 */
function isOutage(error: unknown): boolean {
  const isOfEvents = error instanceof Unavailable || error instanceof AccessDenied
  return isOfEvents || isConnectionFault(error)
}

/** Runs the checks that need more than the streams, in the order they are reported. */
export async function crossChecks(
  ports: Pick<AdminPorts, "projector" | "readAll" | "runner" | "store" | "jobs">,
  companyId: CompanyId | null,
  pendingCharges: readonly PendingChargeRef[],
  signal: AbortSignal,
): Promise<readonly AuditCheck[]> {
  return [
    await runCheck("every pending charge has a job that settles it", signal, () =>
      checkChargeJobs(ports, pendingCharges),
    ),
    await runCheck("every pending purchase has a job that checks it", signal, () =>
      checkPurchaseJobs(ports, companyId),
    ),
    await runCheck("accounts sum to zero", signal, async () => {
      const sums = await listUnbalancedCompanies(ports.readAll, companyId)
      const detail = sums.map((one) => `${one.company_id}: ${one.sum} micros`).join(", ")
      return { ok: sums.length === 0, detail: detail || "all do" }
    }),
  ]
}

/** Checks that every pending charge has a job that will settle it. */
async function checkChargeJobs(
  ports: Pick<AdminPorts, "projector" | "runner" | "store" | "jobs">,
  pendingCharges: readonly PendingChargeRef[],
) {
  // Jobs run meanwhile: a charge without a job may have been settled since its stream was read.
  await ports.projector.waitUntilWritten(await ports.store.head(), JOBS_WAIT_MS, [
    DELAYED_JOBS_PROJECTION,
  ])
  const names = new Set(await ports.jobs.listNames("reconcile-charge"))
  const orphans: string[] = []
  for (const { chargeId, stream } of pendingCharges) {
    if (names.has(chargeId)) continue
    try {
      const isPending = await ports.runner.read({ aggregate: LEDGER_AGGREGATE, stream }, (state) =>
        pendingChargeIds(state).includes(chargeId),
      )
      if (isPending) orphans.push(`${chargeId} of ${stream}`)
    } catch (error) {
      if (!(error instanceof CorruptStream || error instanceof AccessDenied)) throw error
      orphans.push(`${chargeId} of ${stream}, which cannot be read: ${error.message}`)
    }
  }
  return {
    ok: orphans.length === 0,
    detail: orphans.join(", ") || `${pendingCharges.length} pending`,
  }
}

/** Checks that every pending purchase has a job that checks its payment. */
async function checkPurchaseJobs(
  ports: Pick<AdminPorts, "readAll" | "jobs">,
  companyId: CompanyId | null,
) {
  const before = await listPendingPurchases(ports.readAll, companyId)
  const names = new Set(await ports.jobs.listNames("pay-purchase"))
  // Jobs run meanwhile: a purchase without a job may have ended since it was read.
  const now = new Set((await listPendingPurchases(ports.readAll, companyId)).map(idOfPurchase))
  const orphans = before.map(idOfPurchase).filter((id) => !names.has(id) && now.has(id))
  return { ok: orphans.length === 0, detail: orphans.join(", ") || `${before.length} pending` }
}

const idOfPurchase = ({ purchase_id }: PurchaseRow): string => purchase_id

/** Describes the comparison of a read model with its rebuild. */
export function readModelResult(
  { fault: met, tables, same }: ReadModelVerification,
  status: ProjectionStatus | undefined,
): Pick<AuditCheck, "ok" | "detail"> {
  const fault = met ?? status?.fault ?? null
  if (fault !== null) return { ok: false, detail: `stopped at ${fault}` }
  const differing = tables.filter((table) => table.live !== table.rebuilt)
  const detail =
    differing.length > 0
      ? differing.map(({ table, live, rebuilt }) => `${table}: live ${live}; rebuilt ${rebuilt}`)
      : tables.map(({ table, live }) => `${table} ${withoutChecksum(live)}`)
  return { ok: same, detail: detail.join(", ") }
}

/** The compared summary without the checksum, which is not needed if everything is equal. */
const withoutChecksum = (compared: string): string => compared.replace(/, checksum .*$/, "")

/** Each counter starts at zero, because a series that starts at one shows no increase. */
const AUDIT_RESULTS = ["held", "broken"]

export const auditsMetric: Metric = {
  name: "ledger_audits_total",
  help: "Audits (`audit verify`) run by this process, by result.",
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
