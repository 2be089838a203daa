/** The web addresses that lead to companies' apps, as this process has them in its memory. */
import type { AppAddressStatus, DomainId } from "../../../domain/domains/domain-events.ts"
import { appsHostOf } from "../../../domain/domains/domain-views.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { listAllHostnames } from "../../../projections/domains/hostnames.ts"
import { periodicDaemon } from "../../frame/daemon.ts"
import type { Ports } from "../../frame/ports.ts"
import type { Provider } from "../../frame/provider.ts"
import { domainsSettings, edgeAddresses } from "../settings.ts"

/** A web address that leads to a company's app. */
export interface AppHostname {
  readonly companyId: CompanyId
  readonly domainId: DomainId
  readonly status: AppAddressStatus
}

/** Who asks for a name is answered from memory: strangers choose the names, and how often they ask. */
export interface Hostnames {
  /** The address of a host name whose domain points here; null where there is none. */
  readonly find: (host: string) => AppHostname | null
  /** Whether a host name, or an address in its usual form, is this installation's own or leads to it. */
  readonly isOwn: (host: string) => boolean
  /** The host that such names lead to by a CNAME. */
  readonly cnameTarget: () => string
  /** Reads all of them again. */
  readonly refresh: () => Promise<void>
}

declare module "../../frame/ports.ts" {
  interface ProviderPorts {
    readonly hostnames: Hostnames
  }
}

/** What was changed is known after so long, milliseconds, wherever it was. */
const REFRESH_INTERVAL_MS = 1_000

/** Those whose names lead here: no certificate is had for others. */
const SERVED_STATUSES: readonly AppAddressStatus[] = ["waiting_certificate", "live"]

/** Keeps the list. */
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
  let known: ReadonlyMap<string, AppHostname> = new Map()
  const ownHost = () => new URL(ports().baseUrl()).hostname.replace(/^\[(.*)\]$/, "$1")
  return {
    find: (host) => known.get(host) ?? null,
    isOwn: (host) => known.has(host) || edge.has(host) || host === ownHost(),
    cnameTarget: () => appsHostOf(ports().settings(domainsSettings).NS_DOMAIN),
    refresh: async () => {
      const { readAll, baseUrl } = ports()
      const rows = await listAllHostnames(readAll)
      // The API's own name is nobody else's, whoever connects the domain above it.
      const own = new URL(baseUrl()).hostname
      const led = rows.filter(
        ({ hostname, status }) => hostname !== own && SERVED_STATUSES.includes(status),
      )
      known = new Map(
        led.map(({ hostname, company_id: companyId, domain_id: domainId, status }) => [
          hostname,
          { companyId, domainId, status },
        ]),
      )
    },
  }
}

/** Keeps the list as the read model is. */
export const hostnamesRefresher = periodicDaemon({
  displayName: "the list of web addresses",
  intervalMs: REFRESH_INTERVAL_MS,
  // What was known goes on being served.
  failureMessage: "the list of web addresses could not be read",
  createTask: (ports) => () => ports.hostnames.refresh(),
})
