/** Looking for what stands against a call in its company's ledger. */
import { ledgerOf } from "../../../domain/charging/aggregates.ts"
import type { Ledger } from "../../../domain/charging/ledger-state.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { Ports } from "../ports.ts"

/**
 * What stands against a call; null where nothing does. A glance may count facts that are not stored
 * yet, or lack what another process stored just now: it is enough to let a call pass, and nobody is
 * turned away on it.
 *
 * @throws as `Runner.look` does
 */
export async function standingAgainst<T>(
  { runner }: Ports,
  companyId: CompanyId,
  view: (state: Ledger, at: number) => T | null,
): Promise<T | null> {
  const stream = ledgerOf(companyId)
  const glimpse = await runner.glance(stream, view)
  return glimpse === null ? null : runner.lookAtTail(stream, view)
}
