/**
 * `POST /api/v1/domain` with `{domain}`: looks at what there is of a domain, claims it, and connects it with
 * the records that were copied. Where that breaks off behind the claim, the same again goes on with it.
 */
import { z } from "zod"
import { isOutside } from "../../adapters/providers/outside.ts"
import type { CopiedZone, Delegation } from "../../adapters/providers/dns/port.ts"
import { CLAIMS, domainOf } from "../../domain/domains/aggregates.ts"
import type { ConnectDomain, DomainCommand } from "../../domain/domains/domain-commands.ts"
import type { DomainView } from "../../domain/domains/domain-views.ts"
import { domainView, isOurNameServer, nameServersOf } from "../../domain/domains/domain-views.ts"
import type { Claim } from "../../domain/domains/domains.ts"
import { claimOver } from "../../domain/domains/domains.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { tagOf } from "../../domain/kernel/ids.ts"
import { listDomains } from "../../projections/domains/domains.ts"
import { causeOf } from "../frame/routes/call.ts"
import { RATE_LIMITS } from "../frame/routes/checks/rate-limits.ts"
import type { Refusal } from "../frame/routes/answers/refusal.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import type { Caller } from "../frame/routes/declare/route.ts"
import { route } from "../frame/routes/declare/route.ts"
import { invalid } from "../frame/routes/checks/7-values.ts"
import { newId } from "../frame/kernel/ids.ts"
import { shortText } from "../frame/kernel/schema.ts"
import type { Ports } from "../frame/ports.ts"
import { readDomain, DomainReply, domainReply, domainStatus } from "./domain-reply.ts"
import type { Told } from "./find-domain.ts"
import {
  refusedAs,
  anyDomainId,
  findDomain,
  noDomain,
  tellDomain,
  DOMAIN_POST,
  NO_RESOLVER,
  noResolver,
} from "./find-domain.ts"
import { domainsSettings } from "./settings.ts"
import { mayPerson } from "../../domain/access/permissions.ts"
import { addSendingDomainTo, namedIn } from "./sending-domains.ts"
import { MOST_SENDING_NAME } from "./sending-records.ts"

const HELD = "This domain, or one above or below it, is connected already."
const NO_ZONE = "Is not registered, or is part of a domain above it."
/** So many lines of what could not be copied are kept. */
const MOST_LEFT_OUT = 100

/** The route. */
export const connectDomain = route({
  ...DOMAIN_POST,
  name: "connectDomain",
  summary: "Connect a domain, copying its records first",
  example: { body: { domain: "acme.com" } },
  operation: "dns.domains.attach",
  limit: RATE_LIMITS.domain,
  body: z.object({
    domain: shortText(300).describe("The domain, as it was registered: `acme.com`"),
  }),
  reply: DomainReply,
  refuses: ["conflict", "unavailable"],
  says: { conflict: HELD, unavailable: NO_RESOLVER },
  handle: async (ports, caller, { body }) => {
    const read = readDomain(body.domain)
    if ("fault" in read) return { ok: false, refusal: invalid({ domain: read.fault }) }
    const told = await connect(ports, caller, read.name)
    if ("refusal" in told) return { ok: false, refusal: told.refusal }
    const { companyId } = caller
    const all = await ports.readAs(companyId, (db) => listDomains(db, companyId))
    return { ok: true, body: domainReply(told.view, all), position: told.position }
  },
})

async function connect(
  ports: Pick<Ports, "log" | "registrar" | "resolver" | "runner" | "settings">,
  caller: Caller,
  name: string,
): Promise<Told> {
  const { companyId } = caller
  const held = await ports.runner.read(CLAIMS, claimOver(name))
  if (held !== null) {
    if (held.companyId !== companyId || held.name !== name) return { refusal: conflict() }
    const view = await ports.runner.read(domainOf(companyId, held.domainId), domainView)
    if (view !== null) return { view, position: null }
  }
  const seen = await lookAt(ports, companyId, name)
  if ("refusal" in seen) return seen
  const claimed = await claim(ports, caller, name)
  if ("refusal" in claimed) return claimed
  const command = commandOf(ports, claimed, seen)
  const stream = domainOf(companyId, claimed.domainId)
  const said = await ports.runner.execute(stream, command, causeOf(caller), domainView)
  if (said.accepted && said.view !== null) return { view: said.view, position: said.position }
  if (!said.accepted && said.refusal.code !== "no_domain") {
    return { refusal: await letGo(ports, caller, claimed, refusedAs(said.refusal)) }
  }
  // It ended between the claim and this: its claim ends with it, and the same again makes a new one.
  return { refusal: await letGo(ports, caller, claimed, conflict()) }
}

const conflict = (): Refusal => refusal("conflict", HELD)

/** Lets go of a claim that came to nothing. */
async function letGo(
  ports: Pick<Ports, "runner">,
  caller: Caller,
  { domainId }: Claim,
  why: Refusal,
) {
  const command = { type: "ReleaseDomain", domainId, reason: "removed" } as const
  await ports.runner.execute(CLAIMS, command, causeOf(caller))
  return why
}

/** Claims a name; of two companies at once, one has it. */
async function claim(
  ports: Pick<Ports, "runner">,
  caller: Caller,
  name: string,
): Promise<Claim | { readonly refusal: Refusal }> {
  const { companyId } = caller
  const command = { type: "ClaimDomain", domainId: newId("dom"), companyId, name } as const
  const said = await ports.runner.execute(CLAIMS, command, causeOf(caller), claimOver(name))
  return said.accepted && said.view !== null ? said.view : { refusal: conflict() }
}

interface Seen {
  readonly delegation: Delegation
  readonly copied: CopiedZone
  readonly registrar: string | null
}

/** What there is of a domain in the world; a refusal where it cannot be connected as it stands. */
async function lookAt(
  ports: Pick<Ports, "log" | "registrar" | "resolver" | "settings">,
  companyId: CompanyId,
  name: string,
): Promise<Seen | { readonly refusal: Refusal }> {
  const { resolver, registrar } = ports
  try {
    const delegation = await resolver.delegation(name)
    if (delegation === null) return { refusal: invalid({ domain: NO_ZONE }) }
    if (isTaken(ports, companyId, delegation.nameServers)) return { refusal: leftBehind() }
    const [copied, registeredAt] = await Promise.all([resolver.copy(name), registrar.nameOf(name)])
    return { delegation, copied, registrar: registeredAt }
  } catch (error) {
    if (!isOutside(error)) throw error
    ports.log.warn("a domain could not be looked at", error)
    return { refusal: noResolver() }
  }
}

/**
 * Whether name servers are ours, and not all this company's own: whoever points a domain to us and removed
 * it here would lose it to the next who connects it.
 */
function isTaken(
  { settings }: Pick<Ports, "settings">,
  companyId: CompanyId,
  nameServers: readonly string[],
): boolean {
  const { NS_DOMAIN } = settings(domainsSettings)
  const own = ownNameServers({ settings }, companyId)
  return nameServers.some((one) => isOurNameServer(one, NS_DOMAIN) && !own.includes(one))
}

/** The name servers of a company. */
function ownNameServers(
  { settings }: Pick<Ports, "settings">,
  companyId: CompanyId,
): readonly string[] {
  return nameServersOf(tagOf(companyId), settings(domainsSettings).NS_DOMAIN)
}

function leftBehind(): Refusal {
  const message =
    "Its registrar names name servers of ours that are not your company's: have it name others first."
  return refusal("conflict", message)
}

function commandOf(
  ports: Pick<Ports, "settings">,
  { domainId, companyId, name }: Claim,
  { delegation, copied, registrar }: Seen,
): ConnectDomain {
  const { nameServers: replaces, dnssecOn } = delegation
  const records = copied.records.map(({ type, name: owner, content, priority, ttl }) => {
    const body = { type, name: owner, content, priority, ttl }
    return { id: newId("rec"), ...body, source: "copied" as const }
  })
  return {
    type: "ConnectDomain",
    domainId,
    name,
    formerNameServers: replaces,
    dnssecOn,
    registrar,
    records,
    nameServers: ownNameServers(ports, companyId),
    queriedNames: copied.queriedNames,
    omitted: copied.omitted.slice(0, MOST_LEFT_OUT),
  }
}

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
