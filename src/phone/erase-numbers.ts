/** Has the carrier let go of a company whose data is being erased: of its numbers, and of what it knows of it. */
import { inTime } from "../../adapters/providers/outside.ts"
import { phoneOf } from "../../domain/phone/aggregates.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { heldNumbers } from "../../domain/phone/phone-views.ts"
import { causedBy } from "../frame/kernel/envelope.ts"
import type { Ports } from "../frame/ports.ts"

/** Has all of it let go. @throws ProviderUnavailable, ProviderSilent: then it is done again */
export async function eraseNumbers(
  ports: Pick<Ports, "carrier" | "pacer" | "runner">,
  companyId: CompanyId,
): Promise<void> {
  const { carrier, pacer, runner } = ports
  const held = await runner.readLatest(phoneOf(companyId), heldNumbers)
  for (const { numberId, carrierRef } of held) {
    if (carrierRef !== null) await inTime(pacer, "the carrier", carrier.release(carrierRef))
    const release = { type: "ReleaseNumber" as const, numberId, reason: "erased" as const }
    const nobody = { keyId: null, personId: null }
    await runner.execute(phoneOf(companyId), { ...release, ...nobody }, causedBy("erase-company"))
  }
  await inTime(pacer, "the carrier", carrier.forgetCompany(companyId))
}
