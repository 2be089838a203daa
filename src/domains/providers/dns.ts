import {
  DNS_SIMULATOR,
  simulatedRegistrarLookup,
  openSimulatedResolver,
} from "../../../adapters/providers/dns/simulator.ts"
import type { NameServer, RegistrarLookup, Resolver } from "../../../adapters/providers/dns/port.ts"
import type { ServedZones } from "../../../adapters/providers/dns/served-zones.ts"
import { openServedZones } from "../../../adapters/providers/dns/served-zones.ts"
import { nameServerZone } from "../../../domain/domains/domain-views.ts"
import { loadZones } from "../../../projections/domains/dns-records.ts"
import type { Provider } from "../../frame/provider.ts"
import { domainsSettings, edgeAddresses } from "../settings.ts"
import { dnsSettings, publicNameServerSetting } from "./dns-settings.ts"

declare module "../../frame/ports.ts" {
  interface ProviderPorts {
    readonly resolver: Resolver
    readonly registrar: RegistrarLookup
    /** Publishes zones: our own name server, or PowerDNS. */
    readonly nameServer: NameServer
    /** The zones that our own name server answers from; unused with PowerDNS. */
    readonly servedZones: ServedZones
  }
}

/** Provides the resolver and the registrar lookup. */
export const dnsProvider: Provider = {
  from: import.meta.url,
  name: "dns",
  isLocal: (given) => given["DNS_RESOLVER"] !== undefined,
  simulator: DNS_SIMULATOR,
  open: async (outside, ports) => {
    const { DNS_RESOLVER: servers } = outside.settings(dnsSettings)
    const { pacer } = outside
    if (servers === undefined) {
      const zones = { findZone: (name: string) => ports().servedZones.findZone(name) }
      return {
        resolver: openSimulatedResolver({ ...outside, zones }),
        registrar: simulatedRegistrarLookup,
      }
    }
    const { openResolver } = await import("../../../adapters/providers/dns/resolver.ts")
    const { openRdap } = await import("../../../adapters/providers/dns/rdap.ts")
    return { resolver: openResolver({ servers, pacer }), registrar: openRdap({ pacer }) }
  },
}

/** Provides the name server for connected domains: the built-in one, or PowerDNS if it is configured. */
export const nameServerProvider: Provider = {
  from: import.meta.url,
  name: "name-server",
  chosenBy: publicNameServerSetting,
  isLocal: true,
  open: async (outside, ports) => {
    const { POWERDNS_URL: url, POWERDNS_KEY: key } = outside.settings(dnsSettings)
    const settings = outside.settings(domainsSettings)
    const { ipv4, ipv6 } = edgeAddresses(settings)
    const servedZones = openServedZones({
      pacer: outside.pacer,
      load: (apexes) => loadZones(ports().readAll, apexes),
      fixed: [nameServerZone(settings.NS_DOMAIN, [...ipv4, ...ipv6])],
      onError: (error) =>
        ports().log.warn(
          "the name server could not read its zones from the database; it serves the cached ones",
          error,
        ),
    })
    if (url === undefined || key === undefined) return { servedZones, nameServer: servedZones }
    const { openPowerDns } = await import("../../../adapters/providers/dns/powerdns.ts")
    return { servedZones, nameServer: openPowerDns({ url, key }) }
  },
}
