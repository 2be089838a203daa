/** Which of a company's sending domains a mail may be from. */
import { CLAIMS, domainOf } from "../../domain/domains/aggregates.ts"
import { domainView, sendingDomainNamed } from "../../domain/domains/domain-views.ts"
import { claimOver, claimsOf } from "../../domain/domains/domains.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { Ports } from "../frame/ports.ts"

/**
 * The id of the sending domain of exactly this name, where the company has it and its records were right when
 * they were last looked at; null where not. One under a verified domain is not verified by that.
 */
export async function verifiedSender(
  { runner }: Pick<Ports, "runner">,
  companyId: CompanyId,
  name: string,
): Promise<string | null> {
  const claim = await runner.read(CLAIMS, claimOver(name))
  if (claim === null || claim.companyId !== companyId) return null
  const domain = domainOf(companyId, claim.domainId)
  const found = await runner.readLatest(domain, sendingDomainNamed(name))
  return found?.status === "verified" ? found.sendingDomainId : null
}

/** The first verified sending domain of a company; null where it has none. */
export async function firstVerified(
  { runner }: Pick<Ports, "runner">,
  companyId: CompanyId,
): Promise<{ readonly sendingDomainId: string; readonly name: string } | null> {
  for (const { domainId } of await runner.read(CLAIMS, claimsOf(companyId))) {
    const view = await runner.readLatest(domainOf(companyId, domainId), domainView)
    const found = view?.sendingDomains.find(({ status }) => status === "verified")
    if (found !== undefined) return found
  }
  return null
}
