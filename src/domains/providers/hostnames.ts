import type { AppAddressStatus, DomainId } from "../../../domain/domains/domain-events.ts"
import { appsHostOf } from "../../../domain/domains/domain-views.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { listAllHostnames } from "../../../projections/domains/hostnames.ts"
import { periodicDaemon } from "../../frame/daemon.ts"
import type { Ports } from "../../frame/ports.ts"
import type { Provider } from "../../frame/provider.ts"
import { domainsSettings, edgeAddresses } from "../settings.ts"

/** A web address of a company's app. */
export interface AppHostname {
  readonly companyId: CompanyId
  readonly domainId: DomainId
  readonly status: AppAddressStatus
}

/** Looks up host names in memory, because any visitor can send any host name. */
export interface Hostnames {
  /** The web address with this host name whose domain points here, or null. */
  readonly find: (host: string) => AppHostname | null
  /** Whether a host name or a normalized IP address belongs to this installation. */
  readonly isOwn: (host: string) => boolean
  /** The CNAME target of web addresses. */
  readonly cnameTarget: () => string
  readonly refresh: () => Promise<void>
}

declare module "../../frame/ports.ts" {
  interface ProviderPorts {
    readonly hostnames: Hostnames
  }
}

/** Changes by any process take effect after this time. */
const REFRESH_INTERVAL_MS = 1_000

/** Only addresses that point here get a certificate. */
const SERVED_STATUSES: readonly AppAddressStatus[] = ["waiting_certificate", "live"]

/** Provides the list of web addresses. */
export const hostnamesProvider: Provider = {
  from: import.meta.url,
  name: "hostnames",
  isLocal: true,
  open: async ({ settings }, ports) => {
    const { ipv4, ipv6 } = edgeAddresses(settings(domainsSettings))
    return { hostnames: openHostnames(ports, new Set([...ipv4, ...ipv6])) }
  },
}

function openHostnames(
  ports: () => Pick<Ports, "readAll" | "baseUrl" | "settings">,
  edge: ReadonlySet<string>,
): Hostnames {
  let addresses: ReadonlyMap<string, AppHostname> = new Map()
  const ownHost = () => new URL(ports().baseUrl()).hostname.replace(/^\[(.*)\]$/, "$1")
  return {
    find: (host) => addresses.get(host) ?? null,
    isOwn: (host) => addresses.has(host) || edge.has(host) || host === ownHost(),
    cnameTarget: () => appsHostOf(ports().settings(domainsSettings).NS_DOMAIN),
    refresh: async () => {
      const { readAll, baseUrl } = ports()
      const rows = await listAllHostnames(readAll)
      // No company can take the API's own name, even if it connects the domain above it.
      const own = new URL(baseUrl()).hostname
      const served = rows.filter(
        ({ hostname, status }) => hostname !== own && SERVED_STATUSES.includes(status),
      )
      addresses = new Map(
        served.map(({ hostname, company_id: companyId, domain_id: domainId, status }) => [
          hostname,
          { companyId, domainId, status },
        ]),
      )
    },
  }
}

/** Reloads the list from the read model. */
export const hostnamesRefresher = periodicDaemon({
  displayName: "the list of web addresses",
  intervalMs: REFRESH_INTERVAL_MS,
  // The former list stays in use.
  failureMessage: "the list of web addresses could not be read",
  createTask: (ports) => () => ports.hostnames.refresh(),
})
