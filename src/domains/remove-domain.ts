/** Ending connected domains: by an operator's word, and with their company. */
import { CLAIMS, domainOf } from "../../domain/domains/aggregates.ts"
import type { ReleaseReason } from "../../domain/domains/domain-events.ts"
import type { Claim } from "../../domain/domains/domains.ts"
import { claimsOf } from "../../domain/domains/domains.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { Cause } from "../frame/kernel/envelope.ts"
import { causedBy } from "../frame/kernel/envelope.ts"
import type { Ports } from "../frame/ports.ts"

/**
 * Ends a connected domain: nothing of it is served from here on, and its name can be connected again. Each step
 * may be done again. @throws ProviderUnavailable, ProviderSilent of the name server, with the rest undone
 */
export async function removeDomain(
  ports: Pick<Ports, "runner" | "nameServer">,
  { companyId, domainId, name }: Claim,
  reason: ReleaseReason,
  cause: Cause,
): Promise<void> {
  const command = { type: "RemoveDomain", domainId, reason } as const
  await ports.runner.execute(domainOf(companyId, domainId), command, cause)
  await releaseClaim(ports, { domainId, name }, reason, cause)
}

/**
 * Ends the claim of a domain that was removed: nothing of it is served any more before anybody else can have its
 * name. @param claim its name is null where it was never connected
 * @throws ProviderUnavailable, ProviderSilent of the name server, with the claim still there
 */
export async function releaseClaim(
  { runner, nameServer }: Pick<Ports, "runner" | "nameServer">,
  { domainId, name }: Pick<Claim, "domainId"> & { readonly name: string | null },
  reason: ReleaseReason,
  cause: Cause,
): Promise<void> {
  if (name !== null) await nameServer.withdraw(name)
  await runner.execute(CLAIMS, { type: "ReleaseDomain", domainId, reason }, cause)
}

/** The domains of a company go with it; done again after a crash. */
export async function eraseDomains(
  ports: Pick<Ports, "nameServer" | "runner">,
  companyId: CompanyId,
): Promise<void> {
  for (const claim of await ports.runner.readLatest(CLAIMS, claimsOf(companyId))) {
    await removeDomain(ports, claim, "erased", causedBy(`erasure ${companyId}`))
  }
}
