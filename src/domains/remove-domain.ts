/** `POST /api/v1/domain` with `save_app_address`: has a web address lead to the company's app. */
import { z } from "zod"
import type { SaveAppAddress } from "../../domain/domains/domain-commands.ts"
import { isUnder } from "../../domain/domains/host-names.ts"
import { appsHostOf } from "../../domain/domains/domain-views.ts"
import { RECORD_TTL } from "../../domain/domains/records.ts"
import { route } from "../frame/routes/declare/route.ts"
import { invalid } from "../frame/routes/checks/7-values.ts"
import { newId } from "../frame/kernel/ids.ts"
import { shortText } from "../frame/kernel/schema.ts"
import type { Ports } from "../frame/ports.ts"
import { AppAddressReply, appAddressReply, hostNameOf } from "./domain-reply.ts"
import {
  CONFLICTS,
  findDomain,
  noDomain,
  someDomainId,
  tellDomain,
  DOMAIN_EXAMPLE,
  DOMAIN_POST,
} from "./find-domain.ts"
import { domainsSettings, edgeAddresses } from "./settings.ts"
import { CLAIMS, domainOf } from "../../domain/domains/aggregates.ts"
import type { ReleaseReason } from "../../domain/domains/domain-events.ts"
import type { Claim } from "../../domain/domains/domains.ts"
import { claimsOf } from "../../domain/domains/domains.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { Cause } from "../frame/kernel/envelope.ts"
import { causedBy } from "../frame/kernel/envelope.ts"

/** The route. */
export const saveAppAddress = route({
  ...DOMAIN_POST,
  name: "saveAppAddress",
  summary: "Point a web address at the company's app",
  example: {
    body: { action: "save_app_address", domainId: DOMAIN_EXAMPLE, hostname: "app.acme.com" },
  },
  operation: "hosting.appAddress.write",
  also: ["dns.records.write"],
  account: "managed",
  body: z.object({
    action: z.literal("save_app_address").describe("Has a web address lead to the app"),
    domainId: someDomainId,
    hostname: shortText(300).describe("The domain itself, or a name under it"),
  }),
  reply: AppAddressReply,
  refuses: ["conflict", "not_found"],
  says: { ...CONFLICTS },
  handle: async (ports, caller, { body }) => {
    const domain = await findDomain(ports, caller.companyId, body.domainId)
    if (domain === null) return { ok: false, refusal: noDomain(body.domainId) }
    const hostname = hostNameOf(body.hostname)
    if (hostname === null || !isUnder(hostname, domain.name)) {
      const fault = `Must be ${domain.name} or a host name under it.`
      return { ok: false, refusal: invalid({ hostname: fault }) }
    }
    const told = await tellDomain(ports, caller, domain, commandOf(ports, hostname))
    if ("refusal" in told) return { ok: false, refusal: told.refusal }
    const saved = told.view.appAddresses.find((one) => one.hostname === hostname)
    if (saved === undefined) throw new Error(`${hostname} was saved, and is not there`)
    return { ok: true, body: appAddressReply(saved), position: told.position }
  },
})

function commandOf({ settings }: Pick<Ports, "settings">, hostname: string): SaveAppAddress {
  const given = settings(domainsSettings)
  const { ipv4, ipv6 } = edgeAddresses(given)
  const row = (type: "A" | "AAAA" | "CNAME", content: string) => {
    const body = { type, name: hostname, content, priority: null, ttl: RECORD_TTL }
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
 * Ends a connected domain: nothing of it is served from here on, and its name can be connected again. Each step
 * may be done again. @throws ProviderUnavailable, ProviderSilent of the name server, with the rest undone
 */
export async function removeDomain(
  ports: Pick<Ports, "runner" | "nameServer">,
  { companyId, domainId, name }: Claim,
  reason: ReleaseReason,
  cause: Cause,
): Promise<void> {
  const command = { type: "RemoveDomain", domainId, reason } as const
  await ports.runner.execute(domainOf(companyId, domainId), command, cause)
  await releaseClaim(ports, { domainId, name }, reason, cause)
}

/**
 * Ends the claim of a domain that was removed: nothing of it is served any more before anybody else can have its
 * name. @param claim its name is null where it was never connected
 * @throws ProviderUnavailable, ProviderSilent of the name server, with the claim still there
 */
export async function releaseClaim(
  { runner, nameServer }: Pick<Ports, "runner" | "nameServer">,
  { domainId, name }: Pick<Claim, "domainId"> & { readonly name: string | null },
  reason: ReleaseReason,
  cause: Cause,
): Promise<void> {
  if (name !== null) await nameServer.withdraw(name)
  await runner.execute(CLAIMS, { type: "ReleaseDomain", domainId, reason }, cause)
}

/** The domains of a company go with it; done again after a crash. */
export async function eraseDomains(
  ports: Pick<Ports, "nameServer" | "runner">,
  companyId: CompanyId,
): Promise<void> {
  for (const claim of await ports.runner.readLatest(CLAIMS, claimsOf(companyId))) {
    await removeDomain(ports, claim, "erased", causedBy(`erasure ${companyId}`))
  }
}
