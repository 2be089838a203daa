/** Whether the host name of a company's pages leads here. */
import { z } from "zod"
import { DOMAIN_RESERVATIONS_STREAM, domainStreamOf } from "../../domain/domains/aggregates.ts"
import { APP_ADDRESS_STATUSES } from "../../domain/domains/domain-events.ts"
import type { DomainView } from "../../domain/domains/domain-views.ts"
import { viewOfDomain } from "../../domain/domains/domain-views.ts"
import { reservationsOf } from "../../domain/domains/domain-reservations.ts"
import { isSameOrSubdomain } from "../../domain/domains/host-names.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { Ports } from "../frame/ports.ts"
import type { SavedPages } from "./saved-registration.ts"

/** How the host name stands. */
export const PageDomain = z
  .object({
    hostname: z.string().describe("The host name of the pages"),
    status: z
      .enum(["not_connected", ...APP_ADDRESS_STATUSES])
      .describe(
        "As an app address stands; `not_connected`: the host name is none of the company's",
      ),
    error: z.string().nullable().describe("What is wrong; null where nothing is"),
    target: z.string().describe("What a CNAME record of the host name points to"),
  })
  .meta({ id: "PageDomain", description: "Whether the host name of pages leads here" })

/** How the host name stands. */
export type PageDomain = z.infer<typeof PageDomain>

const NO_DOMAIN = "No domain of the company's is above it: connect one by POST /api/v1/domain."
const NO_ADDRESS =
  "It does not lead here: save it by POST /api/v1/domain with `action: save_app_address`."
const NO_HOSTNAME =
  "The pages have no host name: save one with them (PUT /api/v1/phone/pages), under a connected domain."
const SERVICE_HOSTNAME = "It is this service's own name, at which no company's pages are served."
const MOVED = "The domain's registrar names other name servers."

/** What stands in the way, and what to do about it. */
const ERRORS: Readonly<Record<string, string>> = {
  failed: MOVED,
  waiting_dns:
    "The domain does not point here so far: check it by POST /api/v1/domain with `check: true`.",
  waiting_certificate:
    "It leads here, and nobody has come to it by https so far: open it once in a browser. Behind a proxy the " +
    "program has to trust it (`TRUST_PROXY`).",
}

/** The connected domains of a company, the first one first. */
export async function readConnectedDomains(
  { runner }: Pick<Ports, "runner">,
  companyId: CompanyId,
): Promise<readonly DomainView[]> {
  const claims = await runner.read(DOMAIN_RESERVATIONS_STREAM, reservationsOf(companyId))
  const views = await Promise.all(
    claims.map(({ domainId }) => runner.read(domainStreamOf(companyId, domainId), viewOfDomain)),
  )
  // A claim whose connecting broke off is none yet.
  return views.filter((view) => view !== null)
}

/** The connected domain that a host name is, or lies under; null where it lies under none of them. */
export function enclosingDomainOf(
  domains: readonly DomainView[],
  hostname: string,
): DomainView | null {
  return domains.find(({ name }) => isSameOrSubdomain(hostname, name)) ?? null
}

/** How a host name stands. @param domains the connected ones */
export function pageDomainOf(
  { hostnames, baseUrl }: Pick<Ports, "hostnames" | "baseUrl">,
  domains: readonly DomainView[],
  hostname: string,
): PageDomain {
  const target = hostnames.cnameTarget()
  const domain = enclosingDomainOf(domains, hostname)
  const address = domain?.appAddresses.find((one) => one.hostname === hostname)
  if (address === undefined) {
    const error = domain === null ? NO_DOMAIN : NO_ADDRESS
    return { hostname, status: "not_connected", error, target }
  }
  if (hostname === new URL(baseUrl()).hostname) {
    return { hostname, status: "failed", error: SERVICE_HOSTNAME, target }
  }
  const { status } = address
  return { hostname, status, error: ERRORS[status] ?? null, target }
}

/** How the host name of hosted pages stands; null for an own site. */
export async function readDomainOfPages(
  ports: Pick<Ports, "baseUrl" | "hostnames" | "runner">,
  companyId: CompanyId,
  { pages: { mode, hostname } }: SavedPages,
): Promise<Pick<PageDomain, "status" | "error"> | null> {
  if (mode !== "hosted") return null
  if (typeof hostname !== "string") return { status: "not_connected", error: NO_HOSTNAME }
  return pageDomainOf(ports, await readConnectedDomains(ports, companyId), hostname)
}
