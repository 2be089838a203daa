/** Looking charges up among all that were ever made, for ids that carried state does not remember. */
import { ledgerOf } from "../../../domain/charging/aggregates.ts"
import { Unavailable } from "../../../adapters/eventstore/port.ts"
import { ledgerRevision } from "../../../domain/charging/ledger-views.ts"
import type { ChargeId, CompanyId } from "../../../domain/kernel/ids.ts"
import type { ChargeRow } from "../../../projections/charging/charges.ts"
import { findCharge } from "../../../projections/charging/charges.ts"
import type { Ports } from "../ports.ts"

const CATCH_UP_MS = 2_000

/** What a look-up found. */
export interface LookedUp {
  /** The newest charge of this id; null where it was never made. */
  readonly row: ChargeRow | null
  /** Every fact of the company's ledger up to this revision was seen. */
  readonly searchedTo: number
}

/**
 * How a charge stands by everything stored until now.
 *
 * @throws Unavailable where the read model did not catch up in time: what it shows may be old
 */
export async function lookUpCharge(
  ports: Ports,
  companyId: CompanyId,
  chargeId: ChargeId,
): Promise<LookedUp> {
  const searchedTo = await ports.runner.read(ledgerOf(companyId), ledgerRevision)
  const head = await ports.store.head()
  if (!(await ports.projector.waitFor(head, CATCH_UP_MS, ["charges"]))) {
    throw new Unavailable("the read model of charges is behind")
  }
  return { row: await findCharge(ports.readAll, companyId, chargeId), searchedTo }
}
