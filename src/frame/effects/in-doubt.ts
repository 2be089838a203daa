/** Something that was asked for, of which nobody knows what came of it, nor of its charge. */
import type { ChargeId } from "../../../domain/kernel/ids.ts"
import { OutcomeUnknown } from "../writer/run.ts"

/** An error that says which charge to look for; null where it is free. */
export function inDoubt(cause: unknown, chargeId: ChargeId | null): OutcomeUnknown {
  if (chargeId === null) return new OutcomeUnknown("it may have been begun", { cause })
  const message = `charge ${chargeId} may have been made, and what it pays for may not be begun`
  return Object.assign(new OutcomeUnknown(message, { cause }), { chargeId })
}
