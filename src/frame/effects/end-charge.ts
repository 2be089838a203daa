/**
 * The reconciler: an open charge whose work never began is given back, one whose work is known to
 * have ended is ended with it. A crash at any line leaves an open charge, and this ends it.
 */
import { recipientOf } from "../../../domain/phone/aggregates.ts"
import type { TakenWork, WorkResult } from "../../../adapters/work/port.ts"
import type { ChargeWork } from "../../../projections/work.ts"
import { causedBy } from "../kernel/envelope.ts"
import { parseTextResource } from "../../../domain/phone/text-resource.ts"
import type { Ports } from "../ports.ts"
import { giveBack, recordText, settleText } from "../../phone/reactions/settle-text.ts"

/** A queued text has a row of its own that ends the charge: this one only stands behind it. */
const LOOK_AGAIN_MS = 3_600_000

/** Looks into an open charge that has had no next fact for a while. */
export async function endCharge(ports: Ports, work: TakenWork): Promise<WorkResult> {
  const { chargeId, resource } = work.payload as ChargeWork
  const companyId = work.companyId ?? ""
  const text = resource === null ? null : parseTextResource(resource)
  if (text === null) {
    return { result: "park", reason: `nobody knows how to end a charge for ${String(resource)}` }
  }
  const cause = causedBy(`end-charge ${chargeId}`)
  const place = {
    companyId,
    stream: recipientOf(companyId, text.recipient).stream,
    messageId: text.messageId,
  }
  const command = { type: "AbandonText" as const, messageId: text.messageId }
  const known = await recordText(ports, place, command, cause)
  if (known === null || known.status === "abandoned") {
    await giveBack(ports, place, chargeId, null, "the text was never queued", cause)
    return { result: "done" }
  }
  if (await settleText(ports, place, known, cause)) return { result: "done" }
  return { result: "later", dueAt: ports.clock.now() + LOOK_AGAIN_MS }
}
