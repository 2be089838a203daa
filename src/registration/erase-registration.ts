import { withProviderTimeout } from "../../adapters/providers/provider-errors.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { registrationStreamOf } from "../../domain/registration/aggregates.ts"
import { partStateOf } from "../../domain/registration/registration-views.ts"
import type { Ports } from "../frame/ports.ts"

/** Ends an erased company's campaign at the registry. @throws ProviderUnavailable, ProviderOutcomeUnknown */
export async function eraseRegistration(
  ports: Pick<Ports, "pacer" | "registry" | "runner">,
  companyId: CompanyId,
): Promise<void> {
  const { ref, isTest } = await ports.runner.readLatest(
    registrationStreamOf(companyId),
    (state) => ({
      ref: partStateOf(state, "campaign").carrierRef,
      isTest: state.testMode,
    }),
  )
  if (ref === null) return
  await withProviderTimeout(
    ports.pacer,
    "the registry",
    ports.registry.endCampaign({ companyId, isTest, ref }),
  )
}
