/** Connects a domain: inspects it, reserves its name, copies its records. A repeated request continues. */
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

const ALREADY_CONNECTED = "This domain, its parent or one of its subdomains is already connected."
const NOT_REGISTERED =
  "Is not registered, or is part of a registered domain. Use the registered domain."
/** Limit of stored lines about records that could not be copied. */
const MAX_LEFT_OUT = 100

export const connectDomain = route({
  ...DOMAIN_POST_ROUTE,
  name: "connectDomain",
  summary: "Connect a domain, copying its records first",
  example: { body: { domain: "acme.com" } },
  operation: "dns.domains.attach",
  rateLimit: RATE_LIMITS.domain,
  body: z.object({
    domain: boundedText(300).describe("The registered domain, for example `acme.com`"),
  }),
  reply: DomainReply,
  refusalCodes: ["conflict", "unavailable"],
  refusalMessages: { conflict: ALREADY_CONNECTED, unavailable: RESOLVER_DOWN_MESSAGE },
  handle: async (ports, caller, { body }) => {
    const read = parseRegisteredDomain(body.domain)
    if ("fault" in read) return { ok: false, refusal: invalidRefusal({ domain: read.fault }) }
    const result = await connect(ports, caller, read.name)
    if ("refusal" in result) return { ok: false, refusal: result.refusal }
    const { companyId } = caller
    const all = await ports.readAs(companyId, (db) => listDomains(db, companyId))
    return { ok: true, body: domainReply(result.view, all), position: result.position }
  },
})

async function connect(
  ports: Pick<Ports, "log" | "registrar" | "resolver" | "runner" | "settings">,
  caller: Caller,
  name: string,
): Promise<DomainCommandResult> {
  const { companyId } = caller
  const existing = await ports.runner.read(DOMAIN_RESERVATIONS_STREAM, reservationCovering(name))
  if (existing !== null) {
    if (existing.companyId !== companyId || existing.name !== name)
      return { refusal: alreadyConnectedRefusal() }
    const view = await ports.runner.read(domainStreamOf(companyId, existing.domainId), viewOfDomain)
    if (view !== null) return { view, position: null }
  }
  const inspection = await inspectDomain(ports, companyId, name)
  if ("refusal" in inspection) return inspection
  const reservation = await reserveDomain(ports, caller, name)
  if ("refusal" in reservation) return reservation
  const command = connectCommandFor(ports, reservation, inspection)
  const stream = domainStreamOf(companyId, reservation.domainId)
  const outcome = await ports.runner.execute(stream, command, causeOf(caller), viewOfDomain)
  if (outcome.accepted && outcome.view !== null)
    return { view: outcome.view, position: outcome.position }
  if (!outcome.accepted && outcome.refusal.code !== "no_domain") {
    return {
      refusal: await abandonReservation(ports, caller, reservation, domainRefusal(outcome.refusal)),
    }
  }
  // The domain was removed after the reservation; a repeated request makes a new reservation.
  return {
    refusal: await abandonReservation(ports, caller, reservation, alreadyConnectedRefusal()),
  }
}

const alreadyConnectedRefusal = (): Refusal => refusal("conflict", ALREADY_CONNECTED)

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

/** Reserves a name; of two concurrent companies, only one gets it. */
async function reserveDomain(
  ports: Pick<Ports, "runner">,
  caller: Caller,
  name: string,
): Promise<DomainReservation | { readonly refusal: Refusal }> {
  const { companyId } = caller
  const command = { type: "ReserveDomain", domainId: newId("dom"), companyId, name } as const
  const outcome = await ports.runner.execute(
    DOMAIN_RESERVATIONS_STREAM,
    command,
    causeOf(caller),
    reservationCovering(name),
  )
  return outcome.accepted && outcome.view !== null
    ? outcome.view
    : { refusal: alreadyConnectedRefusal() }
}

interface DomainInspection {
  readonly delegation: Delegation
  readonly copied: CopiedZone
  readonly registrar: string | null
}

/** Inspects a domain's delegation, records and registrar; returns a refusal if it cannot be connected. */
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
    const [copied, registrarName] = await Promise.all([
      resolver.copyZone(name),
      registrar.findRegistrarName(name),
    ])
    return { delegation, copied, registrar: registrarName }
  } catch (error) {
    if (!isProviderError(error)) throw error
    ports.log.warn("a domain's DNS records could not be looked up", error)
    return { refusal: resolverDownRefusal() }
  }
}

/** Whether a domain still points to name servers of ours that are another company's. */
function usesForeignNameServers(
  { settings }: Pick<Ports, "settings">,
  companyId: CompanyId,
  nameServers: readonly string[],
): boolean {
  const { NS_DOMAIN } = settings(domainsSettings)
  const ownServers = ownNameServers({ settings }, companyId)
  return nameServers.some((one) => isOurNameServer(one, NS_DOMAIN) && !ownServers.includes(one))
}

function ownNameServers(
  { settings }: Pick<Ports, "settings">,
  companyId: CompanyId,
): readonly string[] {
  return companyNameServers(tagOfId(companyId), settings(domainsSettings).NS_DOMAIN)
}

function foreignServersRefusal(): Refusal {
  const message =
    "The registrar lists name servers that we assigned to another company. Change them at the registrar first."
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

/** Checks whether a domain points to its name servers. */
export const checkDomain = route({
  ...DOMAIN_POST_ROUTE,
  name: "checkDomain",
  summary: "Check whether a domain points here",
  example: { body: { check: true } },
  operation: "dns.check",
  rateLimit: RATE_LIMITS.domain,
  body: z.object({
    check: z.literal(true).describe("Checks the delegation now"),
    domainId: optionalDomainIdSchema,
  }),
  reply: z.object({
    status: domainStatus,
    seen: z.array(z.string()).describe("The name servers in the zone above"),
    pointed: z.boolean().describe("Whether they are exactly the domain's `nameServers`"),
  }),
  refusalCodes: ["not_found", "unavailable"],
  refusalMessages: { unavailable: RESOLVER_DOWN_MESSAGE },
  handle: async (ports, caller, { body }) => {
    const domain = await findDomain(ports, caller.companyId, body.domainId)
    if (domain === null) return { ok: false, refusal: domainNotFound(body.domainId) }
    try {
      const command = await checkDelegation(ports, caller.companyId, domain)
      const result = await executeDomainCommand(ports, caller, domain, command)
      if ("refusal" in result) return { ok: false, refusal: result.refusal }
      const position = (await addApexSendingDomain(ports, caller, result.view)) ?? result.position
      const { status, seenNameServers: seen } = result.view
      const pointed = status === "live"
      return { ok: true, body: { status, seen: [...(seen ?? [])], pointed }, position }
    } catch (error) {
      if (!isProviderError(error)) throw error
      return { ok: false, refusal: resolverDownRefusal() }
    }
  },
})

/** Reads the current delegation of a domain. @throws ProviderUnavailable, ProviderOutcomeUnknown */
export async function checkDelegation(
  ports: Pick<Ports, "resolver" | "settings">,
  companyId: CompanyId,
  { name }: Pick<DomainView, "name">,
): Promise<DomainCommand> {
  const found = await ports.resolver.findDelegation(name)
  const { nameServers, dnssecOn } = found ?? { nameServers: [], dnssecOn: false }
  const usesForeign = usesForeignNameServers(ports, companyId, nameServers)
  return { type: "RecordDelegation", nameServers, dnssecOn, isElsewhere: usesForeign }
}

/** Adds a live domain itself as a sending domain, if the caller may; a failure does not matter. */
async function addApexSendingDomain(
  ports: Pick<Ports, "dkimKeys" | "runner" | "settings">,
  caller: Caller,
  domain: DomainView,
) {
  const { name, status } = domain
  if (status !== "live" || sendingDomainIn(domain, name) !== null) return null
  if (name.length > MAX_SENDING_NAME_LENGTH) return null
  if (!canAddSendingDomains(caller)) return null
  const result = await addSendingDomainTo(ports, caller, domain, name)
  return "refusal" in result ? null : result.position
}

function canAddSendingDomains({ key, person }: Caller): boolean {
  const isGranted = key === null || key.operations.has("email.domains.add")
  return isGranted && (person === null || canPerform(person, "email.domains.add"))
}
