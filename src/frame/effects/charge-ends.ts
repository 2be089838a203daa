/** Ending a charge by what its work came to. */
import type { Position } from "../../../adapters/eventstore/port.ts"
import { ledgerOf } from "../../../domain/charging/aggregates.ts"
import type { GiveBackEnded } from "../../../domain/charging/ledger-commands.ts"
import type { ChargeId, CompanyId } from "../../../domain/kernel/ids.ts"
import type { Micros } from "../../../domain/kernel/money.ts"
import { refundable } from "../../../projections/charging/charges.ts"
import type { Cause } from "../kernel/envelope.ts"
import type { Ports } from "../ports.ts"
import { lookUpCharge } from "./charges.ts"
import { mustSearch } from "./place-charge.ts"

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

/** A final charge, and what is left of it at a revision of the ledger. */
export type FoundCharge = Pick<GiveBackEnded, "charge" | "leftMicros" | "searchedTo">

/** Looks up how a charge stands; null where it was never made. @throws Unavailable */
export async function findEnded(
  ports: Ports,
  companyId: CompanyId,
  chargeId: ChargeId,
): Promise<FoundCharge | null> {
  const { row, searchedTo } = await lookUpCharge(ports, companyId, chargeId)
  return row === null ? null : { ...refundable(row), searchedTo }
}

/**
 * Refunds all that is left of a final charge; nothing where no charge or nothing of it is left. Answers
 * where that stands.
 *
 * @throws Error where the ledger refuses it for good; Unavailable
 */
export async function refundEnded(
  ports: Ports,
  companyId: CompanyId,
  given: FoundCharge | null,
  reason: string,
  cause: Cause,
): Promise<Position | null> {
  for (let found = given; found !== null && found.leftMicros > 0;) {
    const command = {
      type: "GiveBackEnded" as const,
      ...found,
      amountMicros: null,
      reason,
    }
    const refunded = await ports.runner.execute(ledgerOf(companyId), command, cause)
    if (refunded.accepted) return refunded.position
    const { chargeId } = found.charge
    if (!mustSearch(refunded.refusal)) {
      throw new Error(`${chargeId} could not be refunded: ${refunded.refusal.code}`)
    }
    found = await findEnded(ports, companyId, chargeId)
  }
  return null
}
