/**
 * How long a box lives when nobody extends it: what is paid, and a minute more. So boxes of a server that
 * is gone end by themselves, and at most two minutes of one are late (decisions.md §8).
 */
import { BoxGone } from "../../adapters/sandbox/boxhost/port.ts"
import type { BoxView } from "../../domain/boxes/box.ts"
import { BOX_MINUTE_MS } from "../../domain/boxes/box.ts"
import type { BoxId } from "../../domain/boxes/ids.ts"
import { findBox } from "../../projections/boxes/boxes.ts"
import { periodicDaemon } from "../frame/daemon.ts"
import type { Ports } from "../frame/ports.ts"
import { readBox } from "./find-box.ts"

/** A box that is so late with a minute has ended wherever it lived: no lease is as long. */
export const BOX_LOST_AFTER_MS = 3 * BOX_MINUTE_MS
/** While it is made nobody extends it. */
export const FIRST_LEASE_MS = 5 * BOX_MINUTE_MS
const MAX_LEASE_MS = 2 * BOX_MINUTE_MS
const RENEW_INTERVAL_MS = 20_000

/** The lease of a box that runs, from now on, milliseconds; 0 or less where it is over. */
export function leaseMs({ runningAt, minutes }: BoxView, now: number): number {
  const paidTo = (runningAt ?? now) + minutes * BOX_MINUTE_MS
  return Math.min(MAX_LEASE_MS, paidTo - now + BOX_MINUTE_MS)
}

/** Extends what is paid, and ends what runs and should not. */
export async function renewBoxLeases(
  ports: Pick<Ports, "boxHost" | "boxMachine" | "clock" | "counters" | "readAll" | "runner">,
  unknown: Set<BoxId>,
): Promise<void> {
  await ports.boxMachine?.sweep()
  const live = await ports.boxHost.listBoxes()
  const unknownNow = new Set<BoxId>()
  for (const boxId of live) {
    try {
      await renewBoxLease(ports, boxId, () => {
        // One that nobody knows yet may be known the next time: its row is on its way.
        unknownNow.add(boxId)
        return unknown.has(boxId)
      })
    } catch (error) {
      if (!(error instanceof BoxGone)) throw error
    }
  }
  unknown.clear()
  for (const boxId of unknownNow) unknown.add(boxId)
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
    /** Boxes that ran on though they had ended, or that nobody knew. */
    readonly orphans: never
  }
}

/** Keeps the leases of boxes, and ends orphans. */
export const boxLeaseRenewal = periodicDaemon({
  displayName: "the keeping of boxes",
  intervalMs: RENEW_INTERVAL_MS,
  // Whatever it was: the leases are long enough for another look.
  failureMessage: "boxes could not be looked at",
  createTask: (ports) => {
    const unknown = new Set<BoxId>()
    return () => renewBoxLeases(ports, unknown)
  },
})
