/** What becomes of the open charge of a box's first minute, once its box has come to something. */
import { boxStreamOf } from "../../domain/boxes/aggregates.ts"
import type { BoxView } from "../../domain/boxes/box.ts"
import { parseBoxId } from "../../domain/boxes/ids.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { endCharge } from "../frame/effects/charge-ends.ts"
import type { Reconciled } from "../frame/effects/reconcile.ts"
import type { Cause } from "../frame/kernel/envelope.ts"
import type { Ports } from "../frame/ports.ts"
import { abandonBox } from "./slots.ts"

/** What the charge of a box names begins with this. */
export const BOX_PREFIX = "box"

/**
 * Closes the charge of the first minute of a box that runs, or that somebody stopped; gives it back
 * where the box could not be made. False while it is still starting.
 */
export async function settleFirstMinute(
  ports: Ports,
  companyId: CompanyId,
  { status, started }: Pick<BoxView, "status" | "started">,
  cause: Cause,
): Promise<boolean> {
  if (status === "starting") return false
  const failed = { amountMicros: null, reason: "the box could not be made" }
  const back = status === "failed" ? failed : null
  await endCharge(ports, companyId, started.chargeId, back, cause)
  return true
}

/** What the reconciler does with the charge of a first minute. */
export const reconciledBox: Reconciled = {
  prefix: BOX_PREFIX,
  streamOf: (companyId, resource) => {
    const boxId = parseBoxId(resource)
    return boxId === null ? null : boxStreamOf(companyId, boxId).stream
  },
  neverBegun: "the box was never started",
  abandon: async (ports, { companyId, resource }, cause) => {
    const boxId = parseBoxId(resource)
    if (boxId === null) throw new Error(`${resource} is no box`)
    const view = await abandonBox(ports, companyId, boxId, cause)
    if (view === null) return "never begun"
    return (await settleFirstMinute(ports, companyId, view, cause)) ? "ended" : "open"
  },
}
