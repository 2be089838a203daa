/** The rules of domain reservations. */
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

function reservations() {
  const { ask, ...one } = deciderSession(domainReservationsDecider)
  return { ...one, ask: (command: DomainReservationCommand) => ask(command, NOW) }
}

const reserve = (
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
  it("is reserved by one company, and by another once it is released", () => {
    const one = reservations()
    expect(one.ask(reserve("acme.com", "co_aaaaaa", "dom_1"))).toHaveLength(1)
    expect(one.ask(reserve("acme.com", "co_aaaaaa", "dom_2"))).toEqual([])
    expect(one.ask(reserve("acme.com", "co_bbbbbb", "dom_3"))).toBe("held")
    expect(reservationById("dom_1")(one.state())?.name).toBe("acme.com")
    expect(one.ask(release("dom_1"))).toHaveLength(1)
    expect(one.ask(release("dom_1"))).toEqual([])
    expect(one.ask(reserve("acme.com", "co_bbbbbb", "dom_3"))).toHaveLength(1)
    expect(reservationsOf("co_aaaaaa")(one.state())).toEqual([])
  })

  it("blocks its parents and subdomains for other companies, but not names that only share its ending", () => {
    const one = reservations()
    one.ask(reserve("acme.uk.com", "co_aaaaaa", "dom_1"))
    expect(one.ask(reserve("uk.com", "co_bbbbbb", "dom_2"))).toBe("held")
    expect(one.ask(reserve("shop.acme.uk.com", "co_bbbbbb", "dom_3"))).toBe("held")
    expect(one.ask(reserve("evilacme.uk.com", "co_bbbbbb", "dom_4"))).toHaveLength(1)
    expect(reservationCovering("a.b.acme.uk.com")(one.state())?.domainId).toBe("dom_1")
    expect(reservationCovering("a.evilacme.uk.com")(one.state())?.domainId).toBe("dom_4")
    expect(reservationCovering("uk.com")(one.state())).toBeNull()
  })
})

const anyName = fc.constantFrom("com", "a.com", "b.a.com", "c.b.a.com", "d.com", "aa.com")
const anyId = fc.constantFrom<DomainId>("dom_1", "dom_2", "dom_3", "dom_4")
const anyCommand = fc.oneof(
  fc
    .tuple(anyName, fc.constantFrom<CompanyId>("co_aaaaaa", "co_bbbbbb"), anyId)
    .map(([name, companyId, id]) => reserve(name, companyId, id)),
  anyId.map(release),
)

describe("reservations", () => {
  it("never include a domain and its subdomain, after any commands", () => {
    fc.assert(
      fc.property(fc.array(anyCommand, { maxLength: 30 }), (commands) => {
        const one = reservations()
        for (const command of commands) {
          // An id belongs to one reservation forever.
          const isUsed =
            command.type === "ReserveDomain" &&
            one.facts.some(({ domainId }) => domainId === command.domainId)
          if (!isUsed) one.ask(command)
        }
        const names = [...one.state().byName.keys()]
        for (const name of names) {
          expect(names.filter((other) => other !== name && other.endsWith(`.${name}`))).toEqual([])
        }
      }),
    )
  })
})
