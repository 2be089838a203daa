/** Following what was sent for review until carriers have answered. */
import type { CompanyId } from "../../../../domain/kernel/ids.ts"
import type { SubmissionId } from "../../../../domain/registration/ids.ts"
import type { Cause } from "../../../frame/kernel/envelope.ts"
import type { Ports } from "../../../frame/ports.ts"

/**
 * Asks how something stands that was sent. A placeholder: it asks, and records nothing of the answer.
 *
 * @throws ProviderUnavailable, ProviderSilent
 */
export async function askAboutPart(
  { registry }: Ports,
  {
    companyId,
    submissionId,
  }: { readonly companyId: CompanyId; readonly submissionId: SubmissionId },
  _cause: Cause,
): Promise<void> {
  const asked = { companyId, submissionId, part: "business", isTest: false, ref: null } as const
  await registry.ask({ ...asked, brandName: submissionId })
}
