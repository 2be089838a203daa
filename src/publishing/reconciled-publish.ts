/** What becomes of the open charge of a publish, once that has come to something. */
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { publishesOf } from "../../domain/publishing/aggregates.ts"
import { parsePublishId } from "../../domain/publishing/ids.ts"
import type { PublishView } from "../../domain/publishing/publishing.ts"
import { publishOf } from "../../domain/publishing/publishing.ts"
import { endCharge } from "../frame/effects/charge-ends.ts"
import type { Reconciled } from "../frame/effects/reconcile.ts"
import type { Cause } from "../frame/kernel/envelope.ts"
import type { Ports } from "../frame/ports.ts"

/** What the charge of a publish names begins with this. */
export const PUBLISH_PREFIX = "pub"

const BACK = {
  failed: "the publish failed",
  replaced: "a later publish went live before it",
} as const

/**
 * Closes the charge of a publish that was live, and gives back what became of nothing (decisions.md §10).
 * False while it has not come to anything. What one cost that was queued again is given back, whatever it
 * comes to then.
 */
export async function settlePublish(
  ports: Ports,
  companyId: CompanyId,
  { chargeId, endedAt, isFree, status, wasLive }: PublishView,
  cause: Cause,
): Promise<boolean> {
  if (endedAt === null && !isFree) return false
  const why = isFree || status === "failed" ? BACK.failed : BACK.replaced
  const back = wasLive && !isFree ? null : { amountMicros: null, reason: why }
  await endCharge(ports, companyId, chargeId, back, cause)
  return true
}

/** What the reconciler does with the charge of a publish. */
export const reconciledPublish: Reconciled = {
  prefix: PUBLISH_PREFIX,
  streamOf: (companyId) => publishesOf(companyId).stream,
  neverBegun: "the publish was never queued",
  abandon: async (ports, { companyId, resource }, cause) => {
    const publishId = parsePublishId(resource)
    if (publishId === null) throw new Error(`${resource} is no publish`)
    const command = { type: "AbandonPublish" as const, publishId }
    const stream = publishesOf(companyId)
    const { view } = await ports.runner.execute(stream, command, cause, publishOf(publishId))
    if (view === null) return "never begun"
    return (await settlePublish(ports, companyId, view, cause)) ? "ended" : "open"
  },
}
