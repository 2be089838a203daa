/** The built-in name server, which runs beside the API unless PowerDNS answers instead. */
import { isProviderError } from "../../../adapters/providers/provider-errors.ts"
import { nameServerZone } from "../../../domain/domains/domain-views.ts"
import type { Daemon } from "../../frame/daemon.ts"
import type { Ports } from "../../frame/ports.ts"
import { dnsSettings, parseListenAddress } from "./dns-settings.ts"
import { domainsSettings, edgeAddresses } from "../settings.ts"

/** Where it listens unless told otherwise: at any port that is free, for this machine alone. */
const LOOPBACK = { host: "127.0.0.1", port: 0 }
/** A port that another program has, or that is not for everybody. */
const PORT_UNAVAILABLE_CODES: ReadonlySet<unknown> = new Set([
  "EADDRINUSE",
  "EACCES",
  "EADDRNOTAVAIL",
])

/** Answers for connected domains. A port that cannot be had is a warning: the API serves all the same. */
export const nameServerDaemon: Daemon = {
  displayName: "the name server",
  start: async (ports) => {
    const { DNS_LISTEN, POWERDNS_URL } = ports.settings(dnsSettings)
    if (POWERDNS_URL !== undefined) {
      await publishOwnNames(ports)
      return { stop: async () => undefined }
    }
    const place = parseListenAddress(DNS_LISTEN ?? "") ?? LOOPBACK
    const { openNameServer } = await import("../../../adapters/providers/dns/name-server.ts")
    const { servedZones: zones, pacer, log } = ports
    const onError = (error: unknown) => log.warn("the name server met a fault", error)
    try {
      const { host, port, close } = await openNameServer({ ...place, zones, pacer, onError })
      const address = `${host.includes(":") ? `[${host}]` : host}:${port}`
      return { stop: close, listeningAddress: { name: "dns", address } }
    } catch (error) {
      if (!PORT_UNAVAILABLE_CODES.has((error as { readonly code?: unknown }).code)) throw error
      log.warn("DNS_LISTEN cannot be had, so nobody answers for connected domains", error)
      return { stop: async () => undefined }
    }
  },
}

/** The names of the name servers are a zone too. */
async function publishOwnNames({
  settings,
  nameServer,
  log,
}: Pick<Ports, "log" | "nameServer" | "settings">): Promise<void> {
  const read = settings(domainsSettings)
  const { ipv4, ipv6 } = edgeAddresses(read)
  try {
    await nameServer.publish(nameServerZone(read.NS_DOMAIN, [...ipv4, ...ipv6]))
  } catch (error) {
    if (!isProviderError(error)) throw error
    log.warn("PowerDNS could not be told the names of the name servers", error)
  }
}
