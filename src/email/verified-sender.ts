import { DOMAIN_RESERVATIONS_STREAM, domainStreamOf } from "../../domain/domains/aggregates.ts"
import { viewOfDomain, findSendingDomainByName } from "../../domain/domains/domain-views.ts"
import { reservationCovering, reservationsOf } from "../../domain/domains/domain-reservations.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { Ports } from "../frame/ports.ts"

/**
 * The id of the verified sending domain with exactly this name, or null; its subdomains are not verified by it.
 */
export async function findVerifiedSender(
  { runner }: Pick<Ports, "runner">,
  companyId: CompanyId,
  name: string,
): Promise<string | null> {
  const reservation = await runner.read(DOMAIN_RESERVATIONS_STREAM, reservationCovering(name))
  if (reservation === null || reservation.companyId !== companyId) return null
  const domain = domainStreamOf(companyId, reservation.domainId)
  const found = await runner.readLatest(domain, findSendingDomainByName(name))
  return found?.status === "verified" ? found.sendingDomainId : null
}

/** The first verified sending domain of a company, or null. */
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
