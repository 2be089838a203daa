/** A charge of which nobody knows what came of it. */
import type { ChargeId } from "../../../domain/kernel/ids.ts"
import { OutcomeUnknown } from "../writer/run.ts"

/** An error that says which charge to look for. */
export function inDoubt(cause: unknown, chargeId: ChargeId): OutcomeUnknown {
  const message = `charge ${chargeId} may have been made, and what it pays for may not be begun`
  return Object.assign(new OutcomeUnknown(message, { cause }), { chargeId })
}
