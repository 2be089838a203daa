/**
 * The reconciler: refunds a pending charge whose work never began, and ends one whose work has ended. After
 * a crash at any line, this ends the pending charge.
 */
import { z } from "zod"
import type { ChargeId, CompanyId } from "../../../domain/kernel/ids.ts"
import type { Cause } from "../kernel/envelope.ts"
import { causedBy } from "../kernel/envelope.ts"
import type { Ports } from "../ports.ts"
import { refundCharge } from "./charges.ts"
import type { Reaction } from "./reaction.ts"
import { reaction } from "./reaction.ts"

/** Age at which a charge that is still pending is reconciled. */
const RECONCILE_AFTER_MS = 10 * 60_000
/** Work that has begun has a job of its own that ends the charge; this interval is only a safeguard. */
const RECONCILE_AGAIN_MS = 3_600_000

/** How the reconciler ends a pending charge for one kind of resource. */
export interface Reconciliation {
  readonly prefix: string
  /**
   * The stream that holds a charge's intent; null for none, which an audit reports if the charge was
   * settled. Absent if the pending charge itself is the intent.
   */
  readonly streamOf?: (companyId: CompanyId, resource: string) => string | null
  /** Ensures that an intent not yet recorded can no longer be, and ends the charge if its outcome is known. */
  readonly abandon: (
    ports: Ports,
    charge: {
      readonly companyId: CompanyId
      readonly chargeId: ChargeId
      readonly resource: string
    },
    cause: Cause,
  ) => Promise<"never begun" | "ended" | "open">
  /** The reason on the bill for refunding a charge whose intent was never recorded. */
  readonly neverBegunReason: string
}

/** Finds the reconciliation for a resource by its prefix. */
export function reconciliationFor(
  reconciled: readonly Reconciliation[],
  resource: string | null,
): Reconciliation | undefined {
  return reconciled.find(({ prefix }) => resource?.startsWith(`${prefix}_`) === true)
}

/** Creates the reaction that reconciles pending charges by the resource they name. */
export function reconciler(reconciled: readonly Reconciliation[]): Reaction {
  return reaction({
    kind: "reconcile-charge",
    payload: z.object({
      chargeId: z.string(),
      item: z.string(),
      resource: z.string().nullable(),
      countedAt: z.number(),
    }),
    on: {
      Charged: ({ isPending, chargeId, item, resource, at }) => {
        if (!isPending) return []
        const payload = { chargeId, item, resource, countedAt: at }
        return [{ name: chargeId, payload, dueAt: at + RECONCILE_AFTER_MS }]
      },
    },
    endOn: {
      ChargesSettled: ({ chargeIds }) => chargeIds,
      ChargeReduced: ({ chargeId }) => [chargeId],
    },
    isDelayed: true,
    perform: async (ports, { companyId, payload: { chargeId, resource } }) => {
      const found = reconciliationFor(reconciled, resource)
      if (found === undefined || resource === null) {
        const reason = `no slice can reconcile a charge for ${String(resource)}`
        return { result: "stuck", reason }
      }
      const cause = causedBy(`reconcile-charge ${chargeId}`)
      const state = await found.abandon(ports, { companyId, chargeId, resource }, cause)
      if (state === "ended") return { result: "done" }
      if (state === "open")
        return { result: "rescheduled", dueAt: ports.clock.now() + RECONCILE_AGAIN_MS }
      const refund = { amountMicros: null, reason: found.neverBegunReason }
      await refundCharge(ports, companyId, chargeId, refund, cause)
      return { result: "done" }
    },
    discard: async (_ports, { payload: { chargeId } }) => ({
      refusal: `Its charge is pending: end it with "charge refund ${chargeId}".`,
    }),
  })
}
