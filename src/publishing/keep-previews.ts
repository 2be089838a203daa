/**
 * How long a preview's sandbox lives: as long as somebody is at it, and fifteen minutes more. One of a
 * server that is gone ends by itself, by its lease.
 */
import { isOutside } from "../../adapters/providers/outside.ts"
import { ledgerOf } from "../../domain/charging/aggregates.ts"
import { deletionOf } from "../../domain/charging/deletion.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { publishesOf } from "../../domain/publishing/aggregates.ts"
import { wantsApp } from "../../domain/publishing/publishing.ts"
import { keeper } from "../frame/daemon.ts"
import type { Ports } from "../frame/ports.ts"

const MINUTE_MS = 60_000
/** Nobody was at it for so long, by the ledger's clock: it sleeps. */
const IDLE_MS = 15 * MINUTE_MS
const LEASE_MS = 3 * MINUTE_MS
const EACH_MS = 20_000

/** When something was last seen to pass in a sandbox, by how much had passed by then. */
export type Seen = Map<CompanyId, { readonly activities: number; readonly at: number }>

/** Extends the leases of previews that somebody is at, and has the others sleep. */
export async function keepPreviews(
  ports: Pick<Ports, "clock" | "previewHost" | "runner">,
  seen: Seen,
): Promise<void> {
  const running = await ports.previewHost.list()
  for (const companyId of seen.keys()) if (!running.includes(companyId)) seen.delete(companyId)
  for (const companyId of running) {
    try {
      await keepPreview(ports, companyId, seen)
    } catch (error) {
      // It is looked at again before its lease ends.
      if (!isOutside(error)) throw error
    }
  }
}

async function keepPreview(
  ports: Pick<Ports, "clock" | "previewHost" | "runner">,
  companyId: CompanyId,
  seen: Seen,
): Promise<void> {
  const { clock, previewHost } = ports
  const standing = await previewHost.look(companyId)
  if (standing === null) return
  const now = clock.now()
  const last = seen.get(companyId)
  const { activities } = standing
  const at = last === undefined || activities > last.activities ? now : last.at
  seen.set(companyId, { activities, at })
  const isWanted = now - at < IDLE_MS && (await isShown(ports, companyId))
  if (isWanted) await previewHost.extend(companyId, LEASE_MS)
  else await previewHost.sleep(companyId)
}

/** Whether a company's preview may run: one that was deleted has none. */
async function isShown({ runner }: Pick<Ports, "runner">, companyId: CompanyId): Promise<boolean> {
  if ((await runner.read(ledgerOf(companyId), deletionOf)) !== null) return false
  return runner.read(publishesOf(companyId), wantsApp)
}

/** Keeps previews. */
export const previewKeeper = keeper({
  what: "the keeping of previews",
  eachMs: EACH_MS,
  // Whatever it was: the leases are long enough for another look.
  fault: "previews could not be looked at",
  begin: (ports) => {
    const seen: Seen = new Map()
    return () => keepPreviews(ports, seen)
  },
})
