/** Ends the campaign of a company whose data is being erased. */
import { inTime } from "../../adapters/providers/outside.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { registrationOf } from "../../domain/registration/aggregates.ts"
import { partState } from "../../domain/registration/registration-views.ts"
import type { Ports } from "../frame/ports.ts"

/** Ends it at the registry. @throws ProviderUnavailable, ProviderSilent: then it is done again */
export async function eraseRegistration(
  ports: Pick<Ports, "pacer" | "registry" | "runner">,
  companyId: CompanyId,
): Promise<void> {
  const { ref, isTest } = await ports.runner.readLatest(registrationOf(companyId), (state) => ({
    ref: partState(state, "campaign").carrierRef,
    isTest: state.testMode,
  }))
  if (ref === null) return
  await inTime(ports.pacer, "the registry", ports.registry.end({ companyId, isTest, ref }))
}
