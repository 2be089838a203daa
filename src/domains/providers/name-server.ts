import { isProviderError } from "../../../adapters/providers/provider-errors.ts"
import { nameServerZone } from "../../../domain/domains/domain-views.ts"
import type { Daemon } from "../../frame/daemon.ts"
import type { Ports } from "../../frame/ports.ts"
import { dnsSettings, parseListenAddress } from "./dns-settings.ts"
import { domainsSettings, edgeAddresses } from "../settings.ts"

/** The default: any free port, reachable only from this machine. */
const LOOPBACK = { host: "127.0.0.1", port: 0 }
/** The port is in use, privileged, or on an address that this machine does not have. */
const PORT_UNAVAILABLE_CODES: ReadonlySet<unknown> = new Set([
  "EADDRINUSE",
  "EACCES",
  "EADDRNOTAVAIL",
])

/**
 * Runs the built-in name server unless PowerDNS is configured; without a free port, the API runs without it.
 */
export const nameServerDaemon: Daemon = {
  displayName: "the name server",
  start: async (ports) => {
    const { DNS_LISTEN, POWERDNS_URL } = ports.settings(dnsSettings)
    if (POWERDNS_URL !== undefined) {
      await publishOwnNames(ports)
      return { stop: async () => undefined }
    }
    const listenAddress = parseListenAddress(DNS_LISTEN ?? "") ?? LOOPBACK
    const { openNameServer } = await import("../../../adapters/providers/dns/name-server.ts")
    const { servedZones: zones, pacer, log } = ports
    const onError = (error: unknown) => log.warn("the name server failed to answer a query", error)
    try {
      const { host, port, close } = await openNameServer({
        ...listenAddress,
        zones,
        pacer,
        onError,
      })
      const address = `${host.includes(":") ? `[${host}]` : host}:${port}`
      return { stop: close, listeningAddress: { name: "dns", address } }
    } catch (error) {
      if (!PORT_UNAVAILABLE_CODES.has((error as { readonly code?: unknown }).code)) throw error
      log.warn(
        "the name server cannot listen on DNS_LISTEN, so connected domains do not resolve",
        error,
      )
      return { stop: async () => undefined }
    }
  },
}

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
    log.warn("the zone of the name servers could not be published to PowerDNS", error)
  }
}
