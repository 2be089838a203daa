/**
 * `POST /api/v1/domain` with `{domain}`: looks at what there is of a domain, claims it, and connects it with
 * the records that were copied. Where that breaks off behind the claim, the same again goes on with it.
 */
import { z } from "zod"
import { isProviderError } from "../../adapters/providers/provider-errors.ts"
import type { CopiedZone, Delegation } from "../../adapters/providers/dns/port.ts"
import { DOMAIN_RESERVATIONS_STREAM, domainStreamOf } from "../../domain/domains/aggregates.ts"
import type { ConnectDomain, DomainCommand } from "../../domain/domains/domain-commands.ts"
import type { DomainView } from "../../domain/domains/domain-views.ts"
import {
  viewOfDomain,
  isOurNameServer,
  companyNameServers,
} from "../../domain/domains/domain-views.ts"
import type { DomainReservation } from "../../domain/domains/domain-reservations.ts"
import { reservationCovering } from "../../domain/domains/domain-reservations.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { tagOfId } from "../../domain/kernel/ids.ts"
import { listDomains } from "../../projections/domains/domains.ts"
import { causeOf } from "../frame/routes/api-call.ts"
import { RATE_LIMITS } from "../frame/routes/checks/rate-limits.ts"
import type { Refusal } from "../frame/routes/answers/refusal.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import type { Caller } from "../frame/routes/declare/route.ts"
import { route } from "../frame/routes/declare/route.ts"
import { invalidRefusal } from "../frame/routes/checks/7-values.ts"
import { newId } from "../frame/kernel/ids.ts"
import { boundedText } from "../frame/kernel/schema.ts"
import type { Ports } from "../frame/ports.ts"
import { parseRegisteredDomain, DomainReply, domainReply, domainStatus } from "./domain-reply.ts"
import type { DomainCommandResult } from "./domain-requests.ts"
import {
  domainRefusal,
  optionalDomainIdSchema,
  findDomain,
  domainNotFound,
  executeDomainCommand,
  DOMAIN_POST_ROUTE,
  RESOLVER_DOWN_MESSAGE,
  resolverDownRefusal,
} from "./domain-requests.ts"
import { domainsSettings } from "./settings.ts"
import { canPerform } from "../../domain/access/permissions.ts"
import { addSendingDomainTo, sendingDomainIn } from "./sending-domains.ts"
import { MAX_SENDING_NAME_LENGTH } from "./sending-records.ts"

const ALREADY_CONNECTED = "This domain, or one above or below it, is connected already."
const NOT_REGISTERED = "Is not registered, or is part of a domain above it."
/** So many lines of what could not be copied are kept. */
const MAX_LEFT_OUT = 100

/** The route. */
export const connectDomain = route({
  ...DOMAIN_POST_ROUTE,
  name: "connectDomain",
  summary: "Connect a domain, copying its records first",
  example: { body: { domain: "acme.com" } },
  operation: "dns.domains.attach",
  rateLimit: RATE_LIMITS.domain,
  body: z.object({
    domain: boundedText(300).describe("The domain, as it was registered: `acme.com`"),
  }),
  reply: DomainReply,
  refusalCodes: ["conflict", "unavailable"],
  refusalMessages: { conflict: ALREADY_CONNECTED, unavailable: RESOLVER_DOWN_MESSAGE },
  handle: async (ports, caller, { body }) => {
    const read = parseRegisteredDomain(body.domain)
    if ("fault" in read) return { ok: false, refusal: invalidRefusal({ domain: read.fault }) }
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
): Promise<DomainCommandResult> {
  const { companyId } = caller
  const held = await ports.runner.read(DOMAIN_RESERVATIONS_STREAM, reservationCovering(name))
  if (held !== null) {
    if (held.companyId !== companyId || held.name !== name)
      return { refusal: alreadyConnectedRefusal() }
    const view = await ports.runner.read(domainStreamOf(companyId, held.domainId), viewOfDomain)
    if (view !== null) return { view, position: null }
  }
  const seen = await inspectDomain(ports, companyId, name)
  if ("refusal" in seen) return seen
  const claimed = await reserveDomain(ports, caller, name)
  if ("refusal" in claimed) return claimed
  const command = connectCommandFor(ports, claimed, seen)
  const stream = domainStreamOf(companyId, claimed.domainId)
  const said = await ports.runner.execute(stream, command, causeOf(caller), viewOfDomain)
  if (said.accepted && said.view !== null) return { view: said.view, position: said.position }
  if (!said.accepted && said.refusal.code !== "no_domain") {
    return {
      refusal: await abandonReservation(ports, caller, claimed, domainRefusal(said.refusal)),
    }
  }
  // It ended between the claim and this: its claim ends with it, and the same again makes a new one.
  return { refusal: await abandonReservation(ports, caller, claimed, alreadyConnectedRefusal()) }
}

const alreadyConnectedRefusal = (): Refusal => refusal("conflict", ALREADY_CONNECTED)

/** Lets go of a claim that came to nothing. */
async function abandonReservation(
  ports: Pick<Ports, "runner">,
  caller: Caller,
  { domainId }: DomainReservation,
  why: Refusal,
) {
  const command = { type: "ReleaseDomain", domainId, reason: "removed" } as const
  await ports.runner.execute(DOMAIN_RESERVATIONS_STREAM, command, causeOf(caller))
  return why
}

/** Claims a name; of two companies at once, one has it. */
async function reserveDomain(
  ports: Pick<Ports, "runner">,
  caller: Caller,
  name: string,
): Promise<DomainReservation | { readonly refusal: Refusal }> {
  const { companyId } = caller
  const command = { type: "ReserveDomain", domainId: newId("dom"), companyId, name } as const
  const said = await ports.runner.execute(
    DOMAIN_RESERVATIONS_STREAM,
    command,
    causeOf(caller),
    reservationCovering(name),
  )
  return said.accepted && said.view !== null ? said.view : { refusal: alreadyConnectedRefusal() }
}

interface DomainInspection {
  readonly delegation: Delegation
  readonly copied: CopiedZone
  readonly registrar: string | null
}

/** What there is of a domain in the world; a refusal where it cannot be connected as it stands. */
async function inspectDomain(
  ports: Pick<Ports, "log" | "registrar" | "resolver" | "settings">,
  companyId: CompanyId,
  name: string,
): Promise<DomainInspection | { readonly refusal: Refusal }> {
  const { resolver, registrar } = ports
  try {
    const delegation = await resolver.findDelegation(name)
    if (delegation === null) return { refusal: invalidRefusal({ domain: NOT_REGISTERED }) }
    if (usesForeignNameServers(ports, companyId, delegation.nameServers))
      return { refusal: foreignServersRefusal() }
    const [copied, registeredAt] = await Promise.all([
      resolver.copyZone(name),
      registrar.findRegistrarName(name),
    ])
    return { delegation, copied, registrar: registeredAt }
  } catch (error) {
    if (!isProviderError(error)) throw error
    ports.log.warn("a domain could not be looked at", error)
    return { refusal: resolverDownRefusal() }
  }
}

/**
 * Whether name servers are ours, and not all this company's own: whoever points a domain to us and removed
 * it here would lose it to the next who connects it.
 */
function usesForeignNameServers(
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
  return companyNameServers(tagOfId(companyId), settings(domainsSettings).NS_DOMAIN)
}

function foreignServersRefusal(): Refusal {
  const message =
    "Its registrar names name servers of ours that are not your company's: have it name others first."
  return refusal("conflict", message)
}

function connectCommandFor(
  ports: Pick<Ports, "settings">,
  { domainId, companyId, name }: DomainReservation,
  { delegation, copied, registrar }: DomainInspection,
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
    omitted: copied.omitted.slice(0, MAX_LEFT_OUT),
  }
}

/** The route. */
export const checkDomain = route({
  ...DOMAIN_POST_ROUTE,
  name: "checkDomain",
  summary: "Check whether a domain points here",
  example: { body: { check: true } },
  operation: "dns.check",
  rateLimit: RATE_LIMITS.domain,
  body: z.object({
    check: z.literal(true).describe("Asks the zone above the domain now"),
    domainId: optionalDomainIdSchema,
  }),
  reply: z.object({
    status: domainStatus,
    seen: z.array(z.string()).describe("The name servers that the zone above names"),
    pointed: z.boolean().describe("Whether these are exactly the domain's `nameServers`"),
  }),
  refusalCodes: ["not_found", "unavailable"],
  refusalMessages: { unavailable: RESOLVER_DOWN_MESSAGE },
  handle: async (ports, caller, { body }) => {
    const domain = await findDomain(ports, caller.companyId, body.domainId)
    if (domain === null) return { ok: false, refusal: domainNotFound(body.domainId) }
    try {
      const command = await checkDelegation(ports, caller.companyId, domain)
      const told = await executeDomainCommand(ports, caller, domain, command)
      if ("refusal" in told) return { ok: false, refusal: told.refusal }
      const position = (await addApexSendingDomain(ports, caller, told.view)) ?? told.position
      const { status, seenNameServers: seen } = told.view
      const pointed = status === "live"
      return { ok: true, body: { status, seen: [...(seen ?? [])], pointed }, position }
    } catch (error) {
      if (!isProviderError(error)) throw error
      return { ok: false, refusal: resolverDownRefusal() }
    }
  },
})

/** What the zone above a domain says of it now. @throws ProviderUnavailable, ProviderOutcomeUnknown */
export async function checkDelegation(
  ports: Pick<Ports, "resolver" | "settings">,
  companyId: CompanyId,
  { name }: Pick<DomainView, "name">,
): Promise<DomainCommand> {
  const found = await ports.resolver.findDelegation(name)
  const { nameServers, dnssecOn } = found ?? { nameServers: [], dnssecOn: false }
  const isOthers = usesForeignNameServers(ports, companyId, nameServers)
  return { type: "RecordDelegation", nameServers, dnssecOn, isElsewhere: isOthers }
}

/** Where a domain is live and its key may, mail can be sent from it; where that cannot be, it is live all the same. */
async function addApexSendingDomain(
  ports: Pick<Ports, "dkimKeys" | "runner" | "settings">,
  caller: Caller,
  domain: DomainView,
) {
  const { name, status } = domain
  if (status !== "live" || sendingDomainIn(domain, name) !== null) return null
  if (name.length > MAX_SENDING_NAME_LENGTH) return null
  if (!canAddSendingDomains(caller)) return null
  const told = await addSendingDomainTo(ports, caller, domain, name)
  return "refusal" in told ? null : told.position
}

function canAddSendingDomains({ key, person }: Caller): boolean {
  const isGranted = key === null || key.operations.has("email.domains.add")
  return isGranted && (person === null || canPerform(person, "email.domains.add"))
}
