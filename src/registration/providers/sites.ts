/** Reads companies' own pages as carriers do: from public addresses alone, whatever a company names. */
import type { SiteReader } from "../../../adapters/providers/sites/port.ts"
import { openPublicSites } from "../../../adapters/providers/sites/public-sites.ts"
import type { Provider } from "../../frame/provider.ts"

declare module "../../frame/ports.ts" {
  interface ProviderPorts {
    readonly siteReader: SiteReader
  }
}

/** Reads pages. What is served from here is looked at in this process, and never by way of the network. */
export const siteReaderProvider: Provider = {
  from: import.meta.url,
  name: "sites",
  isLocal: true,
  open: async ({ pacer }, ports) => ({
    siteReader: openPublicSites({ pacer, isOwn: (host) => ports().hostnames.isOwn(host) }),
  }),
}
