/** Looks at a running box whenever a minute of it is full, until it has ended and is paid. */
import { z } from "zod"
import { inTime, isOutside } from "../../../adapters/providers/outside.ts"
import type { Box } from "../../../adapters/sandbox/boxhost/port.ts"
import { BoxGone } from "../../../adapters/sandbox/boxhost/port.ts"
import { boxStreamOf } from "../../../domain/boxes/aggregates.ts"
import type { BoxView } from "../../../domain/boxes/box.ts"
import { MINUTE_MS, stopsBy } from "../../../domain/boxes/box.ts"
import type { BoxId } from "../../../domain/boxes/ids.ts"
import { parseBoxId } from "../../../domain/boxes/ids.ts"
import { reaction } from "../../frame/effects/reaction.ts"
import type { Cause } from "../../frame/kernel/envelope.ts"
import { causedBy } from "../../frame/kernel/envelope.ts"
import { idSchema } from "../../frame/kernel/schema.ts"
import type { Ports } from "../../frame/ports.ts"
import { noteBy } from "../activity.ts"
import { readBox } from "../find-box.ts"
import { LOST_AFTER_MS, leaseMs } from "../leases.ts"
import type { Ticked } from "../minutes.ts"
import { payDue } from "../minutes.ts"

/** So long before a box ends by its cap or budget its people can read so. */
const WARNED_MS = 5 * MINUTE_MS
const ENDS_SOON = { action: "notice", detail: null, result: "stops in five minutes" } as const

const NOTHING_DONE = { activities: 0, isBusy: false }

/** Asks a box something; null where it is gone. @throws ProviderUnavailable, ProviderSilent */
async function asked<T>(
  { boxHost, pacer }: Pick<Ports, "boxHost" | "pacer">,
  boxId: BoxId,
  ask: (box: Box) => Promise<T>,
): Promise<T | null> {
  const look = async () => {
    const box = await boxHost.find(boxId)
    return box === null ? null : ask(box)
  }
  try {
    return await inTime(pacer, "the host of boxes", look())
  } catch (error) {
    if (error instanceof BoxGone) return null
    throw error
  }
}

/** When a box is looked at again that another process is to look at, or that did not answer. */
const AGAIN_MS = 1_000

/** Whether a minute of a box is later than any lease is long: wherever it lived, it has ended. */
const isLost = ({ clock }: Pick<Ports, "clock">, view: BoxView | null): boolean =>
  view !== null && view.next !== null && clock.now() - view.next.dueAt >= LOST_AFTER_MS

/** Whether a box lives where another process is, and may be alive there. */
const isElsewhere = (ports: Pick<Ports, "boxHost" | "clock">, view: BoxView | null): boolean =>
  view !== null && view.next !== null && view.host !== ports.boxHost.hostId && !isLost(ports, view)

/** What a box shows of itself; null where it is gone. @throws ProviderUnavailable, ProviderSilent */
async function signsOf(
  ports: Pick<Ports, "boxHost" | "clock" | "pacer">,
  boxId: BoxId,
  known: BoxView | null,
) {
  try {
    return await asked(ports, boxId, (one) => one.hello())
  } catch (error) {
    // Who says nothing of it for so long does not have it either.
    if (isOutside(error) && isLost(ports, known)) return null
    throw error
  }
}

/** Looks at a box, charges what is due, and extends its lease to what is paid; the box as it then stands. */
async function tick(
  ports: Ports,
  box: Omit<Ticked, "signs">,
  known: BoxView | null,
  cause: Cause,
): Promise<BoxView | null> {
  const { companyId, boxId } = box
  const signs = await signsOf(ports, boxId, known)
  if (signs === null) {
    await ports.runner.execute(boxStreamOf(companyId, boxId), { type: "LoseBox", boxId }, cause)
  }
  const view = await payDue(ports, { ...box, signs: signs ?? NOTHING_DONE }, cause)
  if (view?.next !== null && view !== null) {
    const now = ports.clock.now()
    const lease = leaseMs(view, now)
    const leftMs = stopsBy(view.started.at, view.runningAt, view.started) - now
    if (leftMs <= WARNED_MS && leftMs > WARNED_MS - MINUTE_MS) {
      await noteBy(ports, null, { companyId, boxId, view }, ENDS_SOON)
    }
    await asked(ports, boxId, (one) => one.extend(lease))
  }
  return view
}

/** Whoever was about to charge a minute when it was refused has done so by then, or died of it. */
const CHARGED_WITHIN_MS = 10 * MINUTE_MS

/** When a box is to be looked at again; null where nothing more can come of it. */
function lookAgainAt(view: BoxView | null, now: number): number | null {
  if (view === null || view.endedAt === null) return view?.next?.dueAt ?? null
  const lastAt = view.endedAt + CHARGED_WITHIN_MS
  return view.isLastRefused && now < lastAt ? lastAt : null
}

/** Charges what is due of a box. */
export const tickBox = reaction({
  kind: "charge-box-minute",
  payload: z.object({ boxId: idSchema(parseBoxId) }),
  from: {
    BoxRunning: ({ boxId, at }) => [{ name: boxId, payload: { boxId }, dueAt: at + MINUTE_MS + 1 }],
  },
  giveUp: "owed",
  perform: async (ports, { companyId, name, payload: { boxId } }) => {
    const cause = causedBy(`charge-box-minute ${name}`)
    const known = await readBox(ports, companyId, boxId)
    if (isElsewhere(ports, known)) {
      return { result: "later", dueAt: ports.clock.now() + AGAIN_MS }
    }
    try {
      const view = await tick(ports, { companyId, boxId }, known, cause)
      const dueAt = lookAgainAt(view, ports.clock.now())
      return dueAt === null ? { result: "done" } : { result: "later", dueAt }
    } catch (error) {
      if (!isOutside(error)) throw error
      ports.log.info("a box did not answer", { boxId, error: error.message })
      return { result: "later", dueAt: ports.clock.now() + AGAIN_MS }
    }
  },
})
