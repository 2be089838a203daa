/** Checks a running box at the end of each minute, until it has ended and all minutes are paid. */
import { z } from "zod"
import {
  withProviderTimeout,
  isProviderError,
} from "../../../adapters/providers/provider-errors.ts"
import type { BoxHandle } from "../../../adapters/sandbox/boxhost/port.ts"
import { BoxGone } from "../../../adapters/sandbox/boxhost/port.ts"
import { boxStreamOf } from "../../../domain/boxes/aggregates.ts"
import type { BoxView } from "../../../domain/boxes/box.ts"
import { BOX_MINUTE_MS, latestStopAt } from "../../../domain/boxes/box.ts"
import type { BoxId } from "../../../domain/boxes/ids.ts"
import { parseBoxId } from "../../../domain/boxes/ids.ts"
import { reaction } from "../../frame/effects/reaction.ts"
import type { Cause } from "../../frame/kernel/envelope.ts"
import { causedBy } from "../../frame/kernel/envelope.ts"
import { idSchema } from "../../frame/kernel/schema.ts"
import type { Ports } from "../../frame/ports.ts"
import { logActivity } from "../activity.ts"
import { readBox } from "../find-box.ts"
import { BOX_LOST_AFTER_MS, leaseMs } from "../box-leases.ts"
import type { BilledBox } from "../box-minutes.ts"
import { chargeDueMinutes } from "../box-minutes.ts"

/** How long before its time or budget ends a box gets a notice in its activity log. */
const WARN_BEFORE_MS = 5 * BOX_MINUTE_MS
const ENDS_SOON = { action: "notice", detail: null, result: "stops in five minutes" } as const

const NO_ACTIVITY = { activities: 0, isBusy: false }

/** Calls the box; null if it is gone. @throws ProviderUnavailable, ProviderOutcomeUnknown */
async function callBox<T>(
  { boxHost, pacer }: Pick<Ports, "boxHost" | "pacer">,
  boxId: BoxId,
  call: (box: BoxHandle) => Promise<T>,
): Promise<T | null> {
  const findAndCall = async () => {
    const box = await boxHost.find(boxId)
    return box === null ? null : call(box)
  }
  try {
    return await withProviderTimeout(pacer, "the box host", findAndCall())
  } catch (error) {
    if (error instanceof BoxGone) return null
    throw error
  }
}

/** Delay of the next check, if another process must do it or the box did not answer. */
const RETRY_MS = 1_000

/** Whether a minute is later than any lease allows: then the box has ended on every host. */
const isLost = ({ clock }: Pick<Ports, "clock">, view: BoxView | null): boolean =>
  view !== null && view.next !== null && clock.now() - view.next.dueAt >= BOX_LOST_AFTER_MS

/** Whether another process has the box, which may still be alive. */
const isElsewhere = (ports: Pick<Ports, "boxHost" | "clock">, view: BoxView | null): boolean =>
  view !== null && view.next !== null && view.host !== ports.boxHost.hostId && !isLost(ports, view)

/** Reads the health of a box; null if it is gone. @throws ProviderUnavailable, ProviderOutcomeUnknown */
async function readBoxActivity(
  ports: Pick<Ports, "boxHost" | "clock" | "pacer">,
  boxId: BoxId,
  known: BoxView | null,
) {
  try {
    return await callBox(ports, boxId, (one) => one.readHealth())
  } catch (error) {
    // The box is past every lease, so it is gone even though its host does not answer.
    if (isProviderError(error) && isLost(ports, known)) return null
    throw error
  }
}

/** Checks a box, charges due minutes and extends its lease to the paid time; returns its new state. */
async function chargeAndRenew(
  ports: Ports,
  box: Omit<BilledBox, "activity">,
  known: BoxView | null,
  cause: Cause,
): Promise<BoxView | null> {
  const { companyId, boxId } = box
  const health = await readBoxActivity(ports, boxId, known)
  if (health === null) {
    await ports.runner.execute(boxStreamOf(companyId, boxId), { type: "MarkBoxLost", boxId }, cause)
  }
  const view = await chargeDueMinutes(ports, { ...box, activity: health ?? NO_ACTIVITY }, cause)
  if (view?.next !== null && view !== null) {
    const now = ports.clock.now()
    const lease = leaseMs(view, now)
    const leftMs = latestStopAt(view.started.at, view.runningAt, view.started) - now
    if (leftMs <= WARN_BEFORE_MS && leftMs > WARN_BEFORE_MS - BOX_MINUTE_MS) {
      await logActivity(ports, null, { companyId, boxId, view }, ENDS_SOON)
    }
    await callBox(ports, boxId, (one) => one.extend(lease))
  }
  return view
}

/** After this time every charge that began before the refusal is recorded, or its process is dead. */
const CHARGED_WITHIN_MS = 10 * BOX_MINUTE_MS

/** When the box must be checked again; null if nothing is left to do. */
function nextCheckAt(view: BoxView | null, now: number): number | null {
  if (view === null || view.endedAt === null) return view?.next?.dueAt ?? null
  const lastAt = view.endedAt + CHARGED_WITHIN_MS
  return view.isLastRefused && now < lastAt ? lastAt : null
}

/** Charges the due minutes of a box. */
export const chargeBoxMinutes = reaction({
  kind: "charge-box-minute",
  payload: z.object({ boxId: idSchema(parseBoxId) }),
  on: {
    BoxRunning: ({ boxId, at }) => [
      { name: boxId, payload: { boxId }, dueAt: at + BOX_MINUTE_MS + 1 },
    ],
  },
  discard: "never",
  perform: async (ports, { companyId, name, payload: { boxId } }) => {
    const cause = causedBy(`charge-box-minute ${name}`)
    const known = await readBox(ports, companyId, boxId)
    if (isElsewhere(ports, known)) {
      return { result: "rescheduled", dueAt: ports.clock.now() + RETRY_MS }
    }
    try {
      const view = await chargeAndRenew(ports, { companyId, boxId }, known, cause)
      const dueAt = nextCheckAt(view, ports.clock.now())
      return dueAt === null ? { result: "done" } : { result: "rescheduled", dueAt }
    } catch (error) {
      if (!isProviderError(error)) throw error
      ports.log.info("a box did not answer; it is asked again in 1 s", {
        boxId,
        error: error.message,
      })
      return { result: "rescheduled", dueAt: ports.clock.now() + RETRY_MS }
    }
  },
})
