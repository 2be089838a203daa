import type { SiteReader } from "../../../adapters/providers/sites/port.ts"
import { openPublicSites } from "../../../adapters/providers/sites/public-sites.ts"
import type { Provider } from "../../frame/provider.ts"

declare module "../../frame/ports.ts" {
  interface ProviderPorts {
    readonly siteReader: SiteReader
  }
}

/** Reads companies' own pages from public addresses only; pages that we host are read in this process. */
export const siteReaderProvider: Provider = {
  from: import.meta.url,
  name: "sites",
  isLocal: true,
  open: async ({ pacer }, ports) => ({
    siteReader: openPublicSites({ pacer, isOwn: (host) => ports().hostnames.isOwn(host) }),
  }),
}
