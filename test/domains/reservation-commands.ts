/** Random commands of domain reservations. Names are few, so that commands conflict. */
import fc from "fast-check"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { DomainReservationCommand } from "../../domain/domains/domain-reservations.ts"
import type { DomainId } from "../../domain/domains/domain-events.ts"

const domainId = fc.nat(7).map((i): DomainId => `dom_${i}`)
const companyId = fc.constantFrom<CompanyId[]>("co_aaaaaa", "co_bbbbbb")
const name = fc.constantFrom("acme.com", "shop.acme.com", "acme.uk.com", "uk.com", "b.example")

export const reservationCommand: fc.Arbitrary<DomainReservationCommand> = fc.oneof(
  fc.record({ type: fc.constant("ReserveDomain" as const), domainId, companyId, name }),
  fc.record({
    type: fc.constant("ReleaseDomain" as const),
    domainId,
    reason: fc.constantFrom("removed" as const, "lapsed" as const),
  }),
)
