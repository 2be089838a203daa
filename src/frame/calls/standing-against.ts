/** Looking for what stands against a call in its company's ledger. */
import type { Ledger } from "../../../domain/charging/ledger-state.ts"
import { ledgerStream } from "../../../domain/charging/ledger.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { LEDGER } from "../writer/aggregates.ts"
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
  const stream = ledgerStream(companyId)
  const glimpse = await runner.glance(LEDGER, stream, view)
  return glimpse === null ? null : runner.lookAtTail(LEDGER, stream, view)
}
