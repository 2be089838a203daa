/** Whether a domain points here: its parent is asked, never the domain itself, whose answer would be ours. */
import { z } from "zod"
import { isOutside } from "../../adapters/providers/outside.ts"
import type { DomainCommand } from "../../domain/domains/domain-commands.ts"
import type { DomainView } from "../../domain/domains/domain-views.ts"
import { mayPerson } from "../../domain/access/permissions.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { RATE_LIMITS } from "../frame/routes/checks/rate-limits.ts"
import type { Caller } from "../frame/routes/declare/route.ts"
import { route } from "../frame/routes/declare/route.ts"
import type { Ports } from "../frame/ports.ts"
import { addSendingDomainTo, namedIn } from "./add-sending-domain.ts"
import { isTaken } from "./connect-domain.ts"
import { domainStatus } from "./domain-reply.ts"
import { anyDomainId, findDomain, noDomain, tellDomain } from "./find-domain.ts"
import { DOMAIN_POST, NO_RESOLVER, noResolver } from "./routes.ts"
import { MOST_SENDING_NAME } from "./sending-records.ts"

/** The route. */
export const checkDomain = route({
  ...DOMAIN_POST,
  name: "checkDomain",
  summary: "Check whether a domain points here",
  example: { body: { check: true } },
  operation: "dns.check",
  limit: RATE_LIMITS.domain,
  body: z.object({
    check: z.literal(true).describe("Asks the zone above the domain now"),
    domainId: anyDomainId,
  }),
  reply: z.object({
    status: domainStatus,
    seen: z.array(z.string()).describe("The name servers that the zone above names"),
    pointed: z.boolean().describe("Whether these are exactly the domain's `nameServers`"),
  }),
  refuses: ["not_found", "unavailable"],
  says: { unavailable: NO_RESOLVER },
  handle: async (ports, caller, { body }) => {
    const domain = await findDomain(ports, caller.companyId, body.domainId)
    if (domain === null) return { ok: false, refusal: noDomain(body.domainId) }
    try {
      const command = await lookAbove(ports, caller.companyId, domain)
      const told = await tellDomain(ports, caller, domain, command)
      if ("refusal" in told) return { ok: false, refusal: told.refusal }
      const position = (await addOwnSender(ports, caller, told.view)) ?? told.position
      const { status, seenNameServers: seen } = told.view
      const pointed = status === "live"
      return { ok: true, body: { status, seen: [...(seen ?? [])], pointed }, position }
    } catch (error) {
      if (!isOutside(error)) throw error
      return { ok: false, refusal: noResolver() }
    }
  },
})

/** What the zone above a domain says of it now. @throws ProviderUnavailable, ProviderSilent */
export async function lookAbove(
  ports: Pick<Ports, "resolver" | "settings">,
  companyId: CompanyId,
  { name }: Pick<DomainView, "name">,
): Promise<DomainCommand> {
  const found = await ports.resolver.delegation(name)
  const { nameServers, dnssecOn } = found ?? { nameServers: [], dnssecOn: false }
  const isOthers = isTaken(ports, companyId, nameServers)
  return { type: "SeeDelegation", nameServers, dnssecOn, isElsewhere: isOthers }
}

/** Where a domain is live and its key may, mail can be sent from it; where that cannot be, it is live all the same. */
async function addOwnSender(
  ports: Pick<Ports, "dkimKeys" | "runner" | "settings">,
  caller: Caller,
  domain: DomainView,
) {
  const { name, status } = domain
  if (status !== "live" || namedIn(domain, name) !== null) return null
  if (name.length > MOST_SENDING_NAME) return null
  if (!mayAddSenders(caller)) return null
  const told = await addSendingDomainTo(ports, caller, domain, name)
  return "refusal" in told ? null : told.position
}

function mayAddSenders({ key, person }: Caller): boolean {
  const isGranted = key === null || key.operations.has("email.domains.add")
  return isGranted && (person === null || mayPerson(person, "email.domains.add"))
}
