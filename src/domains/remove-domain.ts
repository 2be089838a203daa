import { z } from "zod"
import type { SaveAppAddress } from "../../domain/domains/domain-commands.ts"
import { isSameOrSubdomain } from "../../domain/domains/host-names.ts"
import { appsHostOf } from "../../domain/domains/domain-views.ts"
import { RECORD_TTL_SECONDS } from "../../domain/domains/dns-records.ts"
import { route } from "../frame/routes/declare/route.ts"
import { invalidRefusal } from "../frame/routes/checks/7-values.ts"
import { newId } from "../frame/kernel/ids.ts"
import { boundedText } from "../frame/kernel/schema.ts"
import type { Ports } from "../frame/ports.ts"
import { AppAddressReply, appAddressReply, parseHostname } from "./domain-reply.ts"
import {
  CONFLICT_MESSAGES,
  findDomain,
  domainNotFound,
  domainIdSchema,
  executeDomainCommand,
  DOMAIN_ID_EXAMPLE,
  DOMAIN_POST_ROUTE,
} from "./domain-requests.ts"
import { domainsSettings, edgeAddresses } from "./settings.ts"
import { DOMAIN_RESERVATIONS_STREAM, domainStreamOf } from "../../domain/domains/aggregates.ts"
import type { DomainReleaseReason } from "../../domain/domains/domain-events.ts"
import type { DomainReservation } from "../../domain/domains/domain-reservations.ts"
import { reservationsOf } from "../../domain/domains/domain-reservations.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { Cause } from "../frame/kernel/envelope.ts"
import { causedBy } from "../frame/kernel/envelope.ts"

/** Points a web address at the company's app. */
export const saveAppAddress = route({
  ...DOMAIN_POST_ROUTE,
  name: "saveAppAddress",
  summary: "Point a web address at the company's app",
  example: {
    body: { action: "save_app_address", domainId: DOMAIN_ID_EXAMPLE, hostname: "app.acme.com" },
  },
  operation: "hosting.appAddress.write",
  additionalOperations: ["dns.records.write"],
  accountRequirement: "managed",
  body: z.object({
    action: z.literal("save_app_address").describe("Points a web address at the app"),
    domainId: domainIdSchema,
    hostname: boundedText(300).describe("The domain itself, or a name under it"),
  }),
  reply: AppAddressReply,
  refusalCodes: ["conflict", "not_found"],
  refusalMessages: { ...CONFLICT_MESSAGES },
  handle: async (ports, caller, { body }) => {
    const domain = await findDomain(ports, caller.companyId, body.domainId)
    if (domain === null) return { ok: false, refusal: domainNotFound(body.domainId) }
    const hostname = parseHostname(body.hostname)
    if (hostname === null || !isSameOrSubdomain(hostname, domain.name)) {
      const fault = `Must be ${domain.name} or a host name under it.`
      return { ok: false, refusal: invalidRefusal({ hostname: fault }) }
    }
    const result = await executeDomainCommand(
      ports,
      caller,
      domain,
      saveCommandFor(ports, hostname),
    )
    if ("refusal" in result) return { ok: false, refusal: result.refusal }
    const saved = result.view.appAddresses.find((one) => one.hostname === hostname)
    if (saved === undefined) throw new Error(`${hostname} was saved but is missing`)
    return { ok: true, body: appAddressReply(saved), position: result.position }
  },
})

function saveCommandFor({ settings }: Pick<Ports, "settings">, hostname: string): SaveAppAddress {
  const given = settings(domainsSettings)
  const { ipv4, ipv6 } = edgeAddresses(given)
  const row = (type: "A" | "AAAA" | "CNAME", content: string) => {
    const body = { type, name: hostname, content, priority: null, ttl: RECORD_TTL_SECONDS }
    return { id: newId("rec"), ...body, source: "app" as const }
  }
  return {
    type: "SaveAppAddress",
    appAddressId: newId("adr"),
    hostname,
    alias: row("CNAME", appsHostOf(given.NS_DOMAIN)),
    addresses: [
      ...ipv4.map((address) => row("A", address)),
      ...ipv6.map((address) => row("AAAA", address)),
    ],
  }
}

/**
 * Removes a domain and releases its name; every step may be repeated. @throws ProviderUnavailable,
 * ProviderOutcomeUnknown
 */
export async function removeDomain(
  ports: Pick<Ports, "runner" | "nameServer">,
  { companyId, domainId, name }: DomainReservation,
  reason: DomainReleaseReason,
  cause: Cause,
): Promise<void> {
  const command = { type: "RemoveDomain", domainId, reason } as const
  await ports.runner.execute(domainStreamOf(companyId, domainId), command, cause)
  await releaseReservation(ports, { domainId, name }, reason, cause)
}

/**
 * Withdraws the zone, then releases the reservation; `name` is null if it was never connected. @throws
 * ProviderUnavailable, ProviderOutcomeUnknown the reservation then stays
 */
export async function releaseReservation(
  { runner, nameServer }: Pick<Ports, "runner" | "nameServer">,
  { domainId, name }: Pick<DomainReservation, "domainId"> & { readonly name: string | null },
  reason: DomainReleaseReason,
  cause: Cause,
): Promise<void> {
  if (name !== null) await nameServer.withdraw(name)
  await runner.execute(
    DOMAIN_RESERVATIONS_STREAM,
    { type: "ReleaseDomain", domainId, reason },
    cause,
  )
}

/** Removes the domains of an erased company; safe to repeat after a crash. */
export async function eraseDomains(
  ports: Pick<Ports, "nameServer" | "runner">,
  companyId: CompanyId,
): Promise<void> {
  for (const reservation of await ports.runner.readLatest(
    DOMAIN_RESERVATIONS_STREAM,
    reservationsOf(companyId),
  )) {
    await removeDomain(ports, reservation, "erased", causedBy(`erasure ${companyId}`))
  }
}
