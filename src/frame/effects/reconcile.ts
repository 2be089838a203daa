/**
 * The reconciler: an open charge whose work never began is given back, one whose work is known to
 * have ended is ended with it. A crash at any line leaves an open charge, and this ends it.
 */
import { z } from "zod"
import type { ChargeId, CompanyId } from "../../../domain/kernel/ids.ts"
import type { Cause } from "../kernel/envelope.ts"
import { causedBy } from "../kernel/envelope.ts"
import type { Ports } from "../ports.ts"
import { refundCharge } from "./charges.ts"
import type { Reaction } from "./reaction.ts"
import { reaction } from "./reaction.ts"

/** An open charge that has had no next fact after this long is looked into. */
const RECONCILE_AFTER_MS = 10 * 60_000
/** What was begun has a row of its own that ends the charge: this one only stands behind it. */
const RECONCILE_AGAIN_MS = 3_600_000

/** What the reconciler does with an open charge that names a thing of one kind. */
export interface Reconciliation {
  readonly prefix: string
  /**
   * The stream that holds the intent which a charge is for, null for what is none: an audit misses it
   * where the charge was closed. Absent where the intent is the open charge itself.
   */
  readonly streamOf?: (companyId: CompanyId, resource: string) => string | null
  /**
   * Makes sure that an intent which was never recorded cannot be any more, and ends the charge of one
   * whose end is known.
   */
  readonly abandon: (
    ports: Ports,
    charge: {
      readonly companyId: CompanyId
      readonly chargeId: ChargeId
      readonly resource: string
    },
    cause: Cause,
  ) => Promise<"never begun" | "ended" | "open">
  /** Why a charge was given back whose intent was never recorded, for the bill's reader. */
  readonly neverBegunReason: string
}

/** What ends the charges for things of a resource's kind. */
export function reconciliationFor(
  reconciled: readonly Reconciliation[],
  resource: string | null,
): Reconciliation | undefined {
  return reconciled.find(({ prefix }) => resource?.startsWith(`${prefix}_`) === true)
}

/** The reaction that looks into open charges, by what they name. */
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
        const reason = `nobody knows how to end a charge for ${String(resource)}`
        return { result: "park", reason }
      }
      const cause = causedBy(`reconcile-charge ${chargeId}`)
      const state = await found.abandon(ports, { companyId, chargeId, resource }, cause)
      if (state === "ended") return { result: "done" }
      if (state === "open")
        return { result: "later", dueAt: ports.clock.now() + RECONCILE_AGAIN_MS }
      const back = { amountMicros: null, reason: found.neverBegunReason }
      await refundCharge(ports, companyId, chargeId, back, cause)
      return { result: "done" }
    },
    discard: async (_ports, { payload: { chargeId } }) => ({
      refusal: `Its charge is open: end it with "charge refund ${chargeId}".`,
    }),
  })
}
