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

/** The schema of the status of a pages' host name. */
export const PageDomain = z
  .object({
    hostname: z.string().describe("The host name of the pages"),
    status: z
      .enum(["not_connected", ...APP_ADDRESS_STATUSES])
      .describe(
        "The status of an app address; `not_connected`: the host name belongs to no domain of the company",
      ),
    error: z.string().nullable().describe("The problem, or null"),
    target: z.string().describe("The target for a CNAME record of the host name"),
  })
  .meta({ id: "PageDomain", description: "The status of the pages' host name" })

/** The status of a pages' host name. */
export type PageDomain = z.infer<typeof PageDomain>

const NO_DOMAIN = "It is not under a connected domain. Connect one with POST /api/v1/domain."
const NO_ADDRESS =
  "It does not point here. Save it with POST /api/v1/domain and `action: save_app_address`."
const NO_HOSTNAME =
  "The pages have no host name. Save one under a connected domain with PUT /api/v1/phone/pages."
const SERVICE_HOSTNAME =
  "It is this service's own host name, which serves no company pages. Choose another one."
const MOVED = "The domain's registrar names other name servers. Set ours there again."

const ERRORS: Readonly<Record<string, string>> = {
  failed: MOVED,
  waiting_dns:
    "The domain does not point here yet. Check it with POST /api/v1/domain and `check: true`.",
  waiting_certificate:
    "It points here, but had no https visit yet. Open it once in a browser. Behind a proxy, the " +
    "program must trust the proxy (`TRUST_PROXY`).",
}

/** A company's connected domains, in order of connection. */
export async function readConnectedDomains(
  { runner }: Pick<Ports, "runner">,
  companyId: CompanyId,
): Promise<readonly DomainView[]> {
  const reservations = await runner.read(DOMAIN_RESERVATIONS_STREAM, reservationsOf(companyId))
  const views = await Promise.all(
    reservations.map(({ domainId }) =>
      runner.read(domainStreamOf(companyId, domainId), viewOfDomain),
    ),
  )
  // A reservation without a domain was interrupted while connecting.
  return views.filter((view) => view !== null)
}

/** The connected domain that equals a host name or is above it, or null. */
export function enclosingDomainOf(
  domains: readonly DomainView[],
  hostname: string,
): DomainView | null {
  return domains.find(({ name }) => isSameOrSubdomain(hostname, name)) ?? null
}

/** The status of a host name. @param domains the company's connected domains */
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

/** The status of the host name of hosted pages; null for an own site. */
export async function readDomainOfPages(
  ports: Pick<Ports, "baseUrl" | "hostnames" | "runner">,
  companyId: CompanyId,
  { pages: { mode, hostname } }: SavedPages,
): Promise<Pick<PageDomain, "status" | "error"> | null> {
  if (mode !== "hosted") return null
  if (typeof hostname !== "string") return { status: "not_connected", error: NO_HOSTNAME }
  return pageDomainOf(ports, await readConnectedDomains(ports, companyId), hostname)
}
