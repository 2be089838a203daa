/** Looks at a running box whenever a minute of it is full, until it has ended and is paid. */
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

/** So long before a box ends by its cap or budget its people can read so. */
const WARN_BEFORE_MS = 5 * BOX_MINUTE_MS
const ENDS_SOON = { action: "notice", detail: null, result: "stops in five minutes" } as const

const NO_ACTIVITY = { activities: 0, isBusy: false }

/** Asks a box something; null where it is gone. @throws ProviderUnavailable, ProviderOutcomeUnknown */
async function askBox<T>(
  { boxHost, pacer }: Pick<Ports, "boxHost" | "pacer">,
  boxId: BoxId,
  ask: (box: BoxHandle) => Promise<T>,
): Promise<T | null> {
  const look = async () => {
    const box = await boxHost.find(boxId)
    return box === null ? null : ask(box)
  }
  try {
    return await withProviderTimeout(pacer, "the host of boxes", look())
  } catch (error) {
    if (error instanceof BoxGone) return null
    throw error
  }
}

/** When a box is looked at again that another process is to look at, or that did not answer. */
const RETRY_MS = 1_000

/** Whether a minute of a box is later than any lease is long: wherever it lived, it has ended. */
const isLost = ({ clock }: Pick<Ports, "clock">, view: BoxView | null): boolean =>
  view !== null && view.next !== null && clock.now() - view.next.dueAt >= BOX_LOST_AFTER_MS

/** Whether a box lives where another process is, and may be alive there. */
const isElsewhere = (ports: Pick<Ports, "boxHost" | "clock">, view: BoxView | null): boolean =>
  view !== null && view.next !== null && view.host !== ports.boxHost.hostId && !isLost(ports, view)

/** What a box shows of itself; null where it is gone. @throws ProviderUnavailable, ProviderOutcomeUnknown */
async function readBoxActivity(
  ports: Pick<Ports, "boxHost" | "clock" | "pacer">,
  boxId: BoxId,
  known: BoxView | null,
) {
  try {
    return await askBox(ports, boxId, (one) => one.readHealth())
  } catch (error) {
    // Who says nothing of it for so long does not have it either.
    if (isProviderError(error) && isLost(ports, known)) return null
    throw error
  }
}

/** Looks at a box, charges what is due, and extends its lease to what is paid; the box as it then stands. */
async function chargeAndRenew(
  ports: Ports,
  box: Omit<BilledBox, "activity">,
  known: BoxView | null,
  cause: Cause,
): Promise<BoxView | null> {
  const { companyId, boxId } = box
  const signs = await readBoxActivity(ports, boxId, known)
  if (signs === null) {
    await ports.runner.execute(boxStreamOf(companyId, boxId), { type: "MarkBoxLost", boxId }, cause)
  }
  const view = await chargeDueMinutes(ports, { ...box, activity: signs ?? NO_ACTIVITY }, cause)
  if (view?.next !== null && view !== null) {
    const now = ports.clock.now()
    const lease = leaseMs(view, now)
    const leftMs = latestStopAt(view.started.at, view.runningAt, view.started) - now
    if (leftMs <= WARN_BEFORE_MS && leftMs > WARN_BEFORE_MS - BOX_MINUTE_MS) {
      await logActivity(ports, null, { companyId, boxId, view }, ENDS_SOON)
    }
    await askBox(ports, boxId, (one) => one.extend(lease))
  }
  return view
}

/** Whoever was about to charge a minute when it was refused has done so by then, or died of it. */
const CHARGED_WITHIN_MS = 10 * BOX_MINUTE_MS

/** When a box is to be looked at again; null where nothing more can come of it. */
function nextCheckAt(view: BoxView | null, now: number): number | null {
  if (view === null || view.endedAt === null) return view?.next?.dueAt ?? null
  const lastAt = view.endedAt + CHARGED_WITHIN_MS
  return view.isLastRefused && now < lastAt ? lastAt : null
}

/** Charges what is due of a box. */
export const chargeBoxMinutes = reaction({
  kind: "charge-box-minute",
  payload: z.object({ boxId: idSchema(parseBoxId) }),
  on: {
    BoxRunning: ({ boxId, at }) => [
      { name: boxId, payload: { boxId }, dueAt: at + BOX_MINUTE_MS + 1 },
    ],
  },
  discard: "owed",
  perform: async (ports, { companyId, name, payload: { boxId } }) => {
    const cause = causedBy(`charge-box-minute ${name}`)
    const known = await readBox(ports, companyId, boxId)
    if (isElsewhere(ports, known)) {
      return { result: "later", dueAt: ports.clock.now() + RETRY_MS }
    }
    try {
      const view = await chargeAndRenew(ports, { companyId, boxId }, known, cause)
      const dueAt = nextCheckAt(view, ports.clock.now())
      return dueAt === null ? { result: "done" } : { result: "later", dueAt }
    } catch (error) {
      if (!isProviderError(error)) throw error
      ports.log.info("a box did not answer", { boxId, error: error.message })
      return { result: "later", dueAt: ports.clock.now() + RETRY_MS }
    }
  },
})
