import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { listSitesWithHostname } from "../../../projections/registration/page-sites.ts"
import { periodicDaemon } from "../../frame/daemon.ts"
import type { Ports } from "../../frame/ports.ts"
import type { Provider } from "../../frame/provider.ts"

export interface HostedSite {
  readonly companyId: CompanyId
  readonly slug: string
}

/** Finds pages by host name, from memory, because any visitor can send any host name. */
export interface PageHosts {
  /** The pages at a host name, which must be an app address of the same company; null if there are none. */
  readonly find: (host: string) => HostedSite | null
  readonly refresh: () => Promise<void>
}

declare module "../../frame/ports.ts" {
  interface ProviderPorts {
    readonly pageHosts: PageHosts
  }
}

/** Changes by any process take effect after this time. */
const REFRESH_INTERVAL_MS = 1_000

/** Provides the list of hosted pages. */
export const pageHostsProvider: Provider = {
  from: import.meta.url,
  name: "pages of texting registration",
  isLocal: true,
  open: async (_outside, ports) => ({ pageHosts: openPageHosts(ports) }),
}

function openPageHosts(ports: () => Pick<Ports, "readAll" | "hostnames">): PageHosts {
  let sites: ReadonlyMap<string, HostedSite> = new Map()
  // Multiple companies may save the same host; only the company to which it points gets it.
  const keyOf = (host: string, companyId: CompanyId) => `${companyId} ${host}`
  return {
    find: (host) => {
      if (sites.size === 0) return null
      const address = ports().hostnames.find(host)
      return address === null ? null : (sites.get(keyOf(host, address.companyId)) ?? null)
    },
    refresh: async () => {
      const rows = await listSitesWithHostname(ports().readAll)
      sites = new Map(
        rows.flatMap(({ hostname, company_id: companyId, slug }) =>
          hostname === null ? [] : [[keyOf(hostname, companyId), { companyId, slug }]],
        ),
      )
    },
  }
}

/** Reloads the list from the read model. */
export const pageHostsRefresher = periodicDaemon({
  displayName: "the list of hosted pages",
  intervalMs: REFRESH_INTERVAL_MS,
  // The former list stays in use.
  failureMessage: "the list of hosted pages could not be read",
  createTask: (ports) => () => ports.pageHosts.refresh(),
})
