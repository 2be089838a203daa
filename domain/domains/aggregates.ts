/** Who holds which domain, stream `domains`, and each connected one, stream `domain-<companyId>-<domainId>`. */
import { onlyStreamOf, streamOf } from "../kernel/aggregate.ts"
import type { CompanyId } from "../kernel/ids.ts"
import type { ClaimEvent, DomainEvent, DomainId } from "./domain-events.ts"
import { claimCodec, domainCodec } from "./domain-events.ts"
import { domainBytes, domainCheckpoint } from "./domain-state.ts"
import { domain } from "./domain.ts"
import { claims, claimsBytes, claimsCheckpoint } from "./domains.ts"

declare module "../kernel/facts.ts" {
  interface FactsByCategory {
    readonly domain: DomainEvent
    readonly domains: ClaimEvent
  }
}

/** A connected domain. */
export const DOMAIN = {
  category: "domain" as const,
  decider: domain,
  codec: domainCodec,
  checkpoint: domainCheckpoint,
  bytesOf: domainBytes,
}

/** The stream of a connected domain. */
export const domainOf = (companyId: CompanyId, domainId: DomainId) =>
  streamOf(DOMAIN, companyId, domainId)

/** The stream of who holds which domain. */
export const CLAIMS = onlyStreamOf({
  category: "domains" as const,
  decider: claims,
  codec: claimCodec,
  checkpoint: claimsCheckpoint,
  bytesOf: claimsBytes,
})
