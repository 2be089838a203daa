/**
 * A preview's sandbox lives while it has visits, and fifteen minutes longer. The sandbox of a server that died
 * ends when its lease expires.
 */
import { isProviderError } from "../../adapters/providers/provider-errors.ts"
import { ledgerStreamOf } from "../../domain/charging/aggregates.ts"
import { deletionOf } from "../../domain/charging/deletion.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { publishStreamOf } from "../../domain/publishing/aggregates.ts"
import { needsAppHost } from "../../domain/publishing/publishing.ts"
import { periodicDaemon } from "../frame/daemon.ts"
import type { Ports } from "../frame/ports.ts"

const MINUTE_MS = 60_000
/** A preview sleeps after this time without activity. */
const IDLE_MS = 15 * MINUTE_MS
const LEASE_MS = 3 * MINUTE_MS
const RENEW_INTERVAL_MS = 20_000

/** For each company, the activity counter of its sandbox and the time of its last change. */
export type LastActivity = Map<CompanyId, { readonly activities: number; readonly at: number }>

/** Extends the leases of previews with visits, and puts the others to sleep. */
export async function renewPreviewLeases(
  ports: Pick<Ports, "clock" | "previewHost" | "runner">,
  seen: LastActivity,
): Promise<void> {
  const running = await ports.previewHost.listRunning()
  for (const companyId of seen.keys()) if (!running.includes(companyId)) seen.delete(companyId)
  for (const companyId of running) {
    try {
      await renewPreviewLease(ports, companyId, seen)
    } catch (error) {
      // The next run comes before the lease ends.
      if (!isProviderError(error)) throw error
    }
  }
}

async function renewPreviewLease(
  ports: Pick<Ports, "clock" | "previewHost" | "runner">,
  companyId: CompanyId,
  seen: LastActivity,
): Promise<void> {
  const { clock, previewHost } = ports
  const status = await previewHost.readStatus(companyId)
  if (status === null) return
  const now = clock.now()
  const last = seen.get(companyId)
  const { activities } = status
  const at = last === undefined || activities > last.activities ? now : last.at
  seen.set(companyId, { activities, at })
  const isActive = now - at < IDLE_MS && (await isPreviewActive(ports, companyId))
  if (isActive) await previewHost.extend(companyId, LEASE_MS)
  else await previewHost.sleep(companyId)
}

/** Whether a company's preview may run: not if the company is deleted. */
async function isPreviewActive(
  { runner }: Pick<Ports, "runner">,
  companyId: CompanyId,
): Promise<boolean> {
  if ((await runner.read(ledgerStreamOf(companyId), deletionOf)) !== null) return false
  return runner.read(publishStreamOf(companyId), needsAppHost)
}

export const previewLeaseRenewal = periodicDaemon({
  displayName: "preview lease renewal",
  intervalMs: RENEW_INTERVAL_MS,
  // The leases are long enough for the next run.
  failureMessage: "preview leases could not be renewed",
  createTask: (ports) => {
    const seen: LastActivity = new Map()
    return () => renewPreviewLeases(ports, seen)
  },
})
