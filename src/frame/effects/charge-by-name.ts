/**
 * A charge whose id is a name that says what it is for, as a minute of a box or a month of a number: made
 * once for ever, however late and by whomever it is tried again.
 */
import { ledgerOf } from "../../../domain/charging/aggregates.ts"
import type { Charge } from "../../../domain/charging/ledger-commands.ts"
import type { ChargeRefused } from "../../../domain/charging/ledger-formats.ts"
import type { ChargeId, CompanyId } from "../../../domain/kernel/ids.ts"
import type { Cause } from "../kernel/envelope.ts"
import type { Ports } from "../ports.ts"
import { findEnded, refundEnded } from "./charge-ends.ts"
import { lookUpCharge } from "./charges.ts"
import { mustSearch } from "./place-charge.ts"

/** A charge, and up to which revision of the ledger it is known not to be made; null: that is looked for. */
export interface NamedCharge {
  readonly chargeId: ChargeId
  readonly knownTo: number | null
}

/** Fields of a final charge to the company alone, through every limit. */
const USUAL = {
  via: "company",
  keyId: null,
  personId: null,
  class: "general",
  isPending: false,
  exemption: null,
  dueAt: null,
  servedFrom: null,
} as const

/** The fields of a charge by name; those that are left out have their usual value. */
export type ChargedByName = Pick<
  Charge,
  "item" | "quantity" | "unitPriceMicros" | "priceVersion" | "resource"
> &
  Partial<Pick<Charge, keyof typeof USUAL>>

/**
 * Charges what is not charged yet; null where it is charged, else the ledger's refusal, which is the
 * caller's to keep.
 *
 * @param charge what is asked for at this time; made for each try, because time passes between them
 * @throws Error where the ledger says that it can be no charge at all; Unavailable
 */
export async function chargeByName(
  ports: Ports,
  companyId: CompanyId,
  { chargeId, knownTo }: NamedCharge,
  charge: (now: number) => ChargedByName,
  cause: Cause,
): Promise<ChargeRefused | null> {
  for (let searchedTo = knownTo; ;) {
    if (searchedTo === null) {
      const found = await lookUpCharge(ports, companyId, chargeId)
      if (found.row !== null) return null
      searchedTo = found.searchedTo
    }
    const requestedAt = ports.clock.now()
    const asked = charge(requestedAt)
    const command: Charge = {
      ...USUAL,
      ...asked,
      type: "Charge",
      chargeId,
      amountMicros: asked.quantity * asked.unitPriceMicros,
      requestedAt,
      searchedTo,
    }
    const made = await ports.runner.execute(ledgerOf(companyId), command, cause)
    if (made.accepted) return null
    if (mustSearch(made.refusal)) {
      searchedTo = null
      continue
    }
    if (made.refusal.type === "ChargeRefused") return made.refusal
    throw new Error(`${chargeId} was refused: ${made.refusal.code}`)
  }
}

/** Refunds all that is left of a final charge, where one was made. @throws Error, Unavailable */
export async function refundByName(
  ports: Ports,
  companyId: CompanyId,
  chargeId: ChargeId,
  reason: string,
  cause: Cause,
): Promise<void> {
  const found = await findEnded(ports, companyId, chargeId)
  await refundEnded(ports, companyId, found, reason, cause)
}
