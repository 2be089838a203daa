/**
 * Discards a stuck job for an operator: its outcome is recorded as a final failure, so nothing stays
 * pending. Jobs that a company or its bill is owed cannot be discarded.
 */
import type { StuckJob } from "../../../adapters/postgres/jobs/port.ts"
import type { Cause } from "../kernel/envelope.ts"
import type { Ports } from "../ports.ts"
import type { Reaction } from "./reaction.ts"
import type { ChargeId } from "../../../domain/kernel/ids.ts"
import { OutcomeUnknown } from "../writer/runner.ts"

/** Ends what a stuck job was for, or returns why it cannot be discarded and what to do instead. */
export async function discardJob(
  reactions: readonly Reaction[],
  ports: Ports,
  work: StuckJob,
  cause: Cause,
): Promise<{ readonly refusal: string } | null> {
  const { kind, companyId } = work
  const found = reactions.find((one) => one.kind === kind)
  // Another version of this program may have enqueued it.
  const isUnknown = found === undefined || companyId === null
  if (isUnknown)
    return { refusal: `This version of the program does not know jobs of the kind ${kind}.` }
  const { discard: how, payload } = found
  if (how === "never") {
    return {
      refusal: `A ${kind} job cannot be discarded: its company is owed the result. Fix the cause, then run "job retry".`,
    }
  }
  if (how === "allowed") return null
  const parsed = payload.safeParse(work.payload)
  if (!parsed.success) {
    return {
      refusal: `The job's payload is not valid for the kind ${kind}; it cannot be discarded.`,
    }
  }
  return how(ports, { ...work, companyId, payload: parsed.data }, cause)
}

/** Creates an error that names the charge to look up; `chargeId` is null if the request is free. */
export function unknownChargeOutcome(cause: unknown, chargeId: ChargeId | null): OutcomeUnknown {
  if (chargeId === null) return new OutcomeUnknown("it may have been begun", { cause })
  const message = `charge ${chargeId} may have been made, and what it pays for may not be begun`
  return Object.assign(new OutcomeUnknown(message, { cause }), { chargeId })
}
