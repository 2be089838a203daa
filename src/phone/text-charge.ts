/** Looking up the charge of a text that may have been made before. */
import { Unavailable } from "../../adapters/eventstore/port.ts"
import type { ChargeId, CompanyId } from "../../domain/kernel/ids.ts"
import type { ChargeRow } from "../../projections/charges.ts"
import { findCharge } from "../../projections/charges.ts"
import type { Ports } from "../ports.ts"

const CATCH_UP_MS = 2_000

/**
 * How a charge stands by everything stored until now; null where it was never made.
 *
 * @throws Unavailable where the read model did not catch up in time: what it shows may be old
 */
export async function chargeOf(
  ports: Ports,
  companyId: CompanyId,
  chargeId: ChargeId,
): Promise<ChargeRow | null> {
  const head = await ports.store.head()
  if (!(await ports.projector.waitFor(head, CATCH_UP_MS, ["charges"]))) {
    throw new Unavailable("the read model of charges is behind")
  }
  return findCharge(ports.readAll, companyId, chargeId)
}
