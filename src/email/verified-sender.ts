/** Which of a company's sending domains a mail may be from. */
import { DOMAIN_RESERVATIONS_STREAM, domainStreamOf } from "../../domain/domains/aggregates.ts"
import { viewOfDomain, findSendingDomainByName } from "../../domain/domains/domain-views.ts"
import { reservationCovering, reservationsOf } from "../../domain/domains/domain-reservations.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { Ports } from "../frame/ports.ts"

/**
 * The id of the sending domain of exactly this name, where the company has it and its records were right when
 * they were last looked at; null where not. One under a verified domain is not verified by that.
 */
export async function findVerifiedSender(
  { runner }: Pick<Ports, "runner">,
  companyId: CompanyId,
  name: string,
): Promise<string | null> {
  const claim = await runner.read(DOMAIN_RESERVATIONS_STREAM, reservationCovering(name))
  if (claim === null || claim.companyId !== companyId) return null
  const domain = domainStreamOf(companyId, claim.domainId)
  const found = await runner.readLatest(domain, findSendingDomainByName(name))
  return found?.status === "verified" ? found.sendingDomainId : null
}

/** The first verified sending domain of a company; null where it has none. */
export async function findFirstVerifiedSender(
  { runner }: Pick<Ports, "runner">,
  companyId: CompanyId,
): Promise<{ readonly sendingDomainId: string; readonly name: string } | null> {
  for (const { domainId } of await runner.read(
    DOMAIN_RESERVATIONS_STREAM,
    reservationsOf(companyId),
  )) {
    const view = await runner.readLatest(domainStreamOf(companyId, domainId), viewOfDomain)
    const found = view?.sendingDomains.find(({ status }) => status === "verified")
    if (found !== undefined) return found
  }
  return null
}
