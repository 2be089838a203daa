/**
 * How long a preview's sandbox lives: as long as somebody is at it, and fifteen minutes more. One of a
 * server that is gone ends by itself, by its lease.
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
/** Nobody was at it for so long, by the ledger's clock: it sleeps. */
const IDLE_MS = 15 * MINUTE_MS
const LEASE_MS = 3 * MINUTE_MS
const RENEW_INTERVAL_MS = 20_000

/** When something was last seen to pass in a sandbox, by how much had passed by then. */
export type LastActivity = Map<CompanyId, { readonly activities: number; readonly at: number }>

/** Extends the leases of previews that somebody is at, and has the others sleep. */
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
      // It is looked at again before its lease ends.
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
  const standing = await previewHost.readStatus(companyId)
  if (standing === null) return
  const now = clock.now()
  const last = seen.get(companyId)
  const { activities } = standing
  const at = last === undefined || activities > last.activities ? now : last.at
  seen.set(companyId, { activities, at })
  const isWanted = now - at < IDLE_MS && (await isPreviewActive(ports, companyId))
  if (isWanted) await previewHost.extend(companyId, LEASE_MS)
  else await previewHost.sleep(companyId)
}

/** Whether a company's preview may run: one that was deleted has none. */
async function isPreviewActive(
  { runner }: Pick<Ports, "runner">,
  companyId: CompanyId,
): Promise<boolean> {
  if ((await runner.read(ledgerStreamOf(companyId), deletionOf)) !== null) return false
  return runner.read(publishStreamOf(companyId), needsAppHost)
}

/** Keeps previews. */
export const previewLeaseRenewal = periodicDaemon({
  displayName: "the keeping of previews",
  intervalMs: RENEW_INTERVAL_MS,
  // Whatever it was: the leases are long enough for another look.
  failureMessage: "previews could not be looked at",
  createTask: (ports) => {
    const seen: LastActivity = new Map()
    return () => renewPreviewLeases(ports, seen)
  },
})
