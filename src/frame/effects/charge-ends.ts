/** Ending an open charge by what its work came to. */
import type { Position } from "../../../adapters/eventstore/port.ts"
import { ledgerOf } from "../../../domain/charging/aggregates.ts"
import type { ChargeId, CompanyId } from "../../../domain/kernel/ids.ts"
import type { Micros } from "../../../domain/kernel/money.ts"
import type { Cause } from "../kernel/envelope.ts"
import type { Ports } from "../ports.ts"

/** How much of a charge is given back, and why. */
export interface Back {
  /** Null for the whole. */
  readonly amountMicros: Micros | null
  /** For the bill's reader. */
  readonly reason: string
}

/** Gives an open charge back, whole or in part; one that has ended stays as it is. Answers where that stands. */
export async function giveBack(
  ports: Ports,
  companyId: CompanyId,
  chargeId: ChargeId,
  { amountMicros, reason }: Back,
  cause: Cause,
): Promise<Position | null> {
  const command = { type: "GiveBack" as const, chargeId, amountMicros, reason }
  const ended = await ports.runner.execute(ledgerOf(companyId), command, cause)
  if (!ended.accepted) throw new Error(`charge ${chargeId} could not be given back`)
  return ended.position
}

/** Closes an open charge, or gives back what was not earned of it. */
export async function endCharge(
  ports: Ports,
  companyId: CompanyId,
  chargeId: ChargeId,
  back: Back | null,
  cause: Cause,
): Promise<void> {
  if (back === null) await ports.closeCharge(companyId, chargeId)
  else await giveBack(ports, companyId, chargeId, back, cause)
}
