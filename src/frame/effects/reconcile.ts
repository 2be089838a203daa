/**
 * The reconciler: an open charge whose work never began is given back, one whose work is known to
 * have ended is ended with it. A crash at any line leaves an open charge, and this ends it.
 */
import { z } from "zod"
import { causedBy } from "../kernel/envelope.ts"
import { giveBack } from "./charge-ends.ts"
import type { Reconciled } from "./charged.ts"
import type { Reaction } from "./reaction.ts"
import { reaction } from "./reaction.ts"

/** An open charge that has had no next fact after this long is looked into. */
const LOOK_INTO_AFTER_MS = 10 * 60_000
/** What was begun has a row of its own that ends the charge: this one only stands behind it. */
const LOOK_AGAIN_MS = 3_600_000

/** The reaction that looks into open charges, by what they name. */
export function reconciler(reconciled: readonly Reconciled[]): Reaction {
  return reaction({
    kind: "end-charge",
    payload: z.object({
      chargeId: z.string(),
      item: z.string(),
      resource: z.string().nullable(),
      chargedAt: z.number(),
    }),
    from: {
      Charged: ({ open, chargeId, item, resource, at }) => {
        if (!open) return []
        const payload = { chargeId, item, resource, chargedAt: at }
        return [{ name: chargeId, payload, dueAt: at + LOOK_INTO_AFTER_MS }]
      },
    },
    until: {
      ChargesClosed: ({ chargeIds }) => chargeIds,
      ChargeGivenBack: ({ chargeId }) => [chargeId],
    },
    perform: async (ports, { companyId, payload: { chargeId, resource } }) => {
      const found = reconciled.find(({ prefix }) => resource?.startsWith(`${prefix}_`) === true)
      if (found === undefined || resource === null) {
        const reason = `nobody knows how to end a charge for ${String(resource)}`
        return { result: "park", reason }
      }
      const cause = causedBy(`end-charge ${chargeId}`)
      const state = await found.abandon(ports, { companyId, chargeId, resource }, cause)
      if (state === "ended") return { result: "done" }
      if (state === "open") return { result: "later", dueAt: ports.clock.now() + LOOK_AGAIN_MS }
      const back = { amountMicros: null, reason: found.neverBegun }
      await giveBack(ports, companyId, chargeId, back, cause)
      return { result: "done" }
    },
    giveUp: async (_ports, { payload: { chargeId } }) => ({
      refusal: `Its charge is open: end it with "charge give-back ${chargeId}".`,
    }),
  })
}
