/**
 * A box lives until the end of its paid time plus one minute, unless its lease is extended. So the boxes of
 * a server that died end by themselves, at most two minutes late (docs/decisions/boxes.md).
 */
import { BoxGone } from "../../adapters/sandbox/boxhost/port.ts"
import type { BoxView } from "../../domain/boxes/box.ts"
import { BOX_MINUTE_MS } from "../../domain/boxes/box.ts"
import type { BoxId } from "../../domain/boxes/ids.ts"
import { findBox } from "../../projections/boxes/boxes.ts"
import { periodicDaemon } from "../frame/daemon.ts"
import type { Ports } from "../frame/ports.ts"
import { readBox } from "./find-box.ts"

/** A box that is this late with a minute has ended on every host: no lease is as long. */
export const BOX_LOST_AFTER_MS = 3 * BOX_MINUTE_MS
/** Covers the time in which the box is created, when nothing extends its lease. */
export const FIRST_LEASE_MS = 5 * BOX_MINUTE_MS
const MAX_LEASE_MS = 2 * BOX_MINUTE_MS
const RENEW_INTERVAL_MS = 20_000

/** Returns the lease of a running box in milliseconds from `now`; 0 or less if its time is over. */
export function leaseMs({ runningAt, minutes }: BoxView, now: number): number {
  const paidTo = (runningAt ?? now) + minutes * BOX_MINUTE_MS
  return Math.min(MAX_LEASE_MS, paidTo - now + BOX_MINUTE_MS)
}

/** Extends the leases of paid boxes, and stops boxes that should not run. */
export async function renewBoxLeases(
  ports: Pick<Ports, "boxHost" | "boxMachine" | "clock" | "counters" | "readAll" | "runner">,
  unknownBefore: Set<BoxId>,
): Promise<void> {
  await ports.boxMachine?.sweep()
  const live = await ports.boxHost.listBoxes()
  const unknownNow = new Set<BoxId>()
  for (const boxId of live) {
    try {
      await renewBoxLease(ports, boxId, () => {
        // The row of a new box may not be visible yet: it is an orphan if it is still unknown next time.
        unknownNow.add(boxId)
        return unknownBefore.has(boxId)
      })
    } catch (error) {
      if (!(error instanceof BoxGone)) throw error
    }
  }
  unknownBefore.clear()
  for (const boxId of unknownNow) unknownBefore.add(boxId)
}

async function renewBoxLease(
  ports: Pick<Ports, "boxHost" | "clock" | "counters" | "readAll" | "runner">,
  boxId: BoxId,
  isOrphan: () => boolean,
): Promise<void> {
  const box = await ports.boxHost.find(boxId)
  if (box === null) return
  const row = await findBox(ports.readAll, boxId)
  const view = row === null ? null : await readBox(ports, row.company_id, boxId)
  if (view?.status === "starting") return
  if (view === null && !isOrphan()) return
  if (view?.status === "running" && view.host === ports.boxHost.hostId) {
    const lease = leaseMs(view, ports.clock.now())
    if (lease > 0) await box.extend(lease)
    return
  }
  ports.counters.increment("orphans", {})
  await box.stop()
}

declare module "../frame/counters.ts" {
  interface CounterLabels {
    /** Boxes that ran after their end, or that no stream knows. */
    readonly orphans: never
  }
}

/** Renews the leases of boxes, and stops orphans. */
export const boxLeaseRenewal = periodicDaemon({
  displayName: "box lease renewal",
  intervalMs: RENEW_INTERVAL_MS,
  // The leases are long enough for the next run.
  failureMessage: "box leases could not be renewed",
  createTask: (ports) => {
    const unknownBefore = new Set<BoxId>()
    return () => renewBoxLeases(ports, unknownBefore)
  },
})
