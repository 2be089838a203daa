/**
 * Giving a parked row up by an operator's word. What it stood for ends as if it had failed for good:
 * nothing stays open behind it. What is owed to a company or to its bill cannot be given up.
 */
import type { StuckJob } from "../../../adapters/postgres/jobs/port.ts"
import type { Cause } from "../kernel/envelope.ts"
import type { Ports } from "../ports.ts"
import type { Reaction } from "./reaction.ts"
import type { ChargeId } from "../../../domain/kernel/ids.ts"
import { OutcomeUnknown } from "../writer/runner.ts"

/** Ends what a parked row stands for; else says why it cannot be given up, and what to do instead. */
export async function discardJob(
  reactions: readonly Reaction[],
  ports: Ports,
  work: StuckJob,
  cause: Cause,
): Promise<{ readonly refusal: string } | null> {
  const { kind, companyId } = work
  const found = reactions.find((one) => one.kind === kind)
  // Written by another version of this program, which may know how to do it.
  const isUnknown = found === undefined || companyId === null
  if (isUnknown)
    return { refusal: `This version of the program knows no work of the kind ${kind}.` }
  const { discard: how, payload } = found
  if (how === "owed") {
    return { refusal: `What ${kind} does is owed: mend its cause, then "job retry".` }
  }
  if (how === "nothing is lost") return null
  const parsed = payload.safeParse(work.payload)
  if (!parsed.success) return { refusal: `What its row carries cannot be read: it is no ${kind}.` }
  return how(ports, { ...work, companyId, payload: parsed.data }, cause)
}

/** An error that says which charge to look for; null where it is free. */
export function unknownChargeOutcome(cause: unknown, chargeId: ChargeId | null): OutcomeUnknown {
  if (chargeId === null) return new OutcomeUnknown("it may have been begun", { cause })
  const message = `charge ${chargeId} may have been made, and what it pays for may not be begun`
  return Object.assign(new OutcomeUnknown(message, { cause }), { chargeId })
}
