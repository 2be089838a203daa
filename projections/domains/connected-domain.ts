/** Which connected domain a fact is about. */
import type { DomainId } from "../../domain/domains/ids.ts"
import { parseDomainId } from "../../domain/domains/ids.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { restOf } from "../../domain/kernel/aggregate.ts"
import type { Recorded } from "../kernel/projection.ts"

/** A connected domain, by its ids. */
export interface ConnectedDomain {
  readonly companyId: CompanyId
  readonly domainId: DomainId
}

/**
 * The connected domain that a fact is about: a claim says it, a domain's own stream has it in its name. Null
 * for facts of other streams.
 */
export function connectedDomain({ fact, stream, companyId }: Recorded): ConnectedDomain | null {
  if (fact.type === "DomainReserved" || fact.type === "DomainReleased") return fact
  const domainId = parseDomainId(restOf(stream) ?? "")
  return companyId === null || domainId === null ? null : { companyId, domainId }
}
