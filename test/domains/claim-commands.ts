/** Random commands about who holds which name. Names are few, so that commands meet. */
import fc from "fast-check"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { ClaimCommand } from "../../domain/domains/domains.ts"
import type { DomainId } from "../../domain/domains/domain-events.ts"

const domainId = fc.nat(7).map((i): DomainId => `dom_${i}`)
const companyId = fc.constantFrom<CompanyId[]>("co_aaaaaa", "co_bbbbbb")
const name = fc.constantFrom("acme.com", "shop.acme.com", "acme.uk.com", "uk.com", "b.example")

/** One of them. */
export const claimCommand: fc.Arbitrary<ClaimCommand> = fc.oneof(
  fc.record({ type: fc.constant("ClaimDomain" as const), domainId, companyId, name }),
  fc.record({
    type: fc.constant("ReleaseDomain" as const),
    domainId,
    reason: fc.constantFrom("removed" as const, "lapsed" as const),
  }),
)
