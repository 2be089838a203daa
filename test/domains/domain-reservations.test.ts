/** The rules of who holds which domain. */
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { DomainReservationCommand } from "../../domain/domains/domain-reservations.ts"
import {
  reservationById,
  reservationCovering,
  domainReservationsDecider,
  reservationsOf,
} from "../../domain/domains/domain-reservations.ts"
import { deciderSession } from "../support/decider-spec.ts"
import type { DomainId } from "../../domain/domains/domain-events.ts"

const NOW = Date.UTC(2026, 10, 24, 10)

function register() {
  const { ask, ...one } = deciderSession(domainReservationsDecider)
  return { ...one, ask: (command: DomainReservationCommand) => ask(command, NOW) }
}

const claim = (
  name: string,
  companyId: CompanyId,
  domainId: DomainId,
): DomainReservationCommand => {
  return { type: "ReserveDomain", name, companyId, domainId }
}
const release = (domainId: DomainId): DomainReservationCommand => {
  return { type: "ReleaseDomain", domainId, reason: "removed" }
}

describe("a name", () => {
  it("is held by one company, and by another once it was let go of", () => {
    const one = register()
    expect(one.ask(claim("acme.com", "co_aaaaaa", "dom_1"))).toHaveLength(1)
    expect(one.ask(claim("acme.com", "co_aaaaaa", "dom_2"))).toEqual([])
    expect(one.ask(claim("acme.com", "co_bbbbbb", "dom_3"))).toBe("held")
    expect(reservationById("dom_1")(one.state())?.name).toBe("acme.com")
    expect(one.ask(release("dom_1"))).toHaveLength(1)
    expect(one.ask(release("dom_1"))).toEqual([])
    expect(one.ask(claim("acme.com", "co_bbbbbb", "dom_3"))).toHaveLength(1)
    expect(reservationsOf("co_aaaaaa")(one.state())).toEqual([])
  })

  it("is not held above or below one that is, and is not one that only ends like it", () => {
    const one = register()
    one.ask(claim("acme.uk.com", "co_aaaaaa", "dom_1"))
    expect(one.ask(claim("uk.com", "co_bbbbbb", "dom_2"))).toBe("held")
    expect(one.ask(claim("shop.acme.uk.com", "co_bbbbbb", "dom_3"))).toBe("held")
    expect(one.ask(claim("evilacme.uk.com", "co_bbbbbb", "dom_4"))).toHaveLength(1)
    expect(reservationCovering("a.b.acme.uk.com")(one.state())?.domainId).toBe("dom_1")
    expect(reservationCovering("a.evilacme.uk.com")(one.state())?.domainId).toBe("dom_4")
    expect(reservationCovering("uk.com")(one.state())).toBeNull()
  })
})

const anyName = fc.constantFrom("com", "a.com", "b.a.com", "c.b.a.com", "d.com", "aa.com")
const anyId = fc.constantFrom<DomainId>("dom_1", "dom_2", "dom_3", "dom_4")
const anyClaim = fc.oneof(
  fc
    .tuple(anyName, fc.constantFrom<CompanyId>("co_aaaaaa", "co_bbbbbb"), anyId)
    .map(([name, companyId, id]) => claim(name, companyId, id)),
  anyId.map(release),
)

describe("whatever is claimed and let go of", () => {
  it("no two names that are held lie above one another", () => {
    fc.assert(
      fc.property(fc.array(anyClaim, { maxLength: 30 }), (commands) => {
        const one = register()
        for (const command of commands) {
          // No id is given twice: it is of one claim for ever.
          const isUsed =
            command.type === "ReserveDomain" &&
            one.facts.some(({ domainId }) => domainId === command.domainId)
          if (!isUsed) one.ask(command)
        }
        const held = [...one.state().byName.keys()]
        for (const name of held) {
          expect(held.filter((other) => other !== name && other.endsWith(`.${name}`))).toEqual([])
        }
      }),
    )
  })
})
