/** At which host names companies' pages are served, as this process has them in its memory. */
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { listSitesWithHostname } from "../../../projections/registration/page-sites.ts"
import { periodicDaemon } from "../../frame/daemon.ts"
import type { Ports } from "../../frame/ports.ts"
import type { Provider } from "../../frame/provider.ts"

/** A company's pages. */
export interface HostedSite {
  readonly companyId: CompanyId
  readonly slug: string
}

/** Which pages are at a host name: strangers choose it with every request, so it is known from memory. */
export interface PageHosts {
  /**
   * The pages at a host name; null where there are none. It has to lead here by an app address of the same
   * company: whoever but names a host of another's is served nothing at it.
   */
  readonly find: (host: string) => HostedSite | null
  /** Reads all of them again. */
  readonly refresh: () => Promise<void>
}

declare module "../../frame/ports.ts" {
  interface ProviderPorts {
    readonly pageHosts: PageHosts
  }
}

/** What was changed is known after so long, milliseconds, wherever it was. */
const REFRESH_INTERVAL_MS = 1_000

/** Keeps the list. */
export const pageHostsProvider: Provider = {
  from: import.meta.url,
  name: "pages of texting registration",
  isLocal: true,
  open: async (_outside, ports) => ({ pageHosts: openPageHosts(ports) }),
}

function openPageHosts(ports: () => Pick<Ports, "readAll" | "hostnames">): PageHosts {
  let known: ReadonlyMap<string, HostedSite> = new Map()
  // Several companies may name one host: it is of that one to which it leads.
  const nameOf = (host: string, companyId: CompanyId) => `${companyId} ${host}`
  return {
    find: (host) => {
      if (known.size === 0) return null
      const led = ports().hostnames.find(host)
      return led === null ? null : (known.get(nameOf(host, led.companyId)) ?? null)
    },
    refresh: async () => {
      const rows = await listSitesWithHostname(ports().readAll)
      known = new Map(
        rows.flatMap(({ hostname, company_id: companyId, slug }) =>
          hostname === null ? [] : [[nameOf(hostname, companyId), { companyId, slug }]],
        ),
      )
    },
  }
}

/** Keeps the list as the read model is. */
export const pageHostsRefresher = periodicDaemon({
  displayName: "the list of companies' pages",
  intervalMs: REFRESH_INTERVAL_MS,
  // What was known goes on being served.
  failureMessage: "the list of companies' pages could not be read",
  createTask: (ports) => () => ports.pageHosts.refresh(),
})
