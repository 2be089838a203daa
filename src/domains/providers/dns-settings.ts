import { isIP, isIPv6 } from "node:net"
import { z } from "zod"
import { defineSettings } from "../../frame/settings.ts"

const RESOLVER =
  "must be system, or addresses separated by commas, for example 192.0.2.1,[2001:db8::1]:53"
const LISTEN = "must be an address and a port, for example 0.0.0.0:53 or [::]:53"

const ADDRESS_WITH_PORT = /^(?:\[([0-9a-f:]+)\]|([\d.]+)):(\d{1,5})$/i

/** The address on which a name server listens. */
export interface ListenAddress {
  readonly host: string
  /** 0 for any free port. */
  readonly port: number
}

/** Parses an address with a port, IPv6 in brackets; null if it is invalid. */
export function parseListenAddress(text: string): ListenAddress | null {
  const [, v6, v4, digits] = ADDRESS_WITH_PORT.exec(text) ?? []
  const host = v6 ?? v4 ?? ""
  const port = Number(digits)
  return isIP(host) !== 0 && isIPv6(host) === (v6 !== undefined) && port <= 65_535
    ? { host, port }
    : null
}

const isLoopback = ({ host }: ListenAddress): boolean =>
  host === "::1" || (!isIPv6(host) && host.startsWith("127."))

const isResolverList = (text: string): boolean =>
  text === "system" ||
  text.split(",").every((one) => isIP(one.trim()) !== 0 || parseListenAddress(one.trim()) !== null)

/** The DNS settings: the resolver, the listen address, and PowerDNS. */
export const dnsSettings = defineSettings({
  from: import.meta.url,
  schema: z.object({
    DNS_RESOLVER: z.string().refine(isResolverList, RESOLVER).optional(),
    DNS_LISTEN: z
      .string()
      .refine((text) => parseListenAddress(text) !== null, LISTEN)
      .optional(),
    POWERDNS_URL: z
      .url({ protocol: /^https?$/, error: "must be a URL, for example http://127.0.0.1:8081" })
      .optional(),
    POWERDNS_KEY: z.string().min(1).optional(),
  }),
  secret: ["POWERDNS_KEY"],
  faults: (given) => {
    const isPowerDns = given["POWERDNS_URL"] !== undefined
    const faults: string[] = []
    if (isPowerDns !== (given["POWERDNS_KEY"] !== undefined)) {
      faults.push("POWERDNS_URL and POWERDNS_KEY must be set together.")
    }
    if (isPowerDns && given["DNS_LISTEN"] !== undefined) {
      faults.push("POWERDNS_URL and DNS_LISTEN choose two name servers. Set only one of them.")
    }
    const publicSetting = publicNameServerSetting(given)
    if (publicSetting !== null && given["DNS_RESOLVER"] === undefined) {
      faults.push(
        `${publicSetting} answers public queries, but without DNS_RESOLVER the DNS simulator treats every domain as the caller's. ` +
          "Set DNS_RESOLVER, for example to system.",
      )
    }
    return faults
  },
})

/** The setting that makes the name server public; null if only this machine can reach it. */
export function publicNameServerSetting(given: Readonly<Record<string, string>>): string | null {
  if (given["POWERDNS_URL"] !== undefined) return "POWERDNS_URL"
  const address = parseListenAddress(given["DNS_LISTEN"] ?? "")
  return address === null || isLoopback(address) ? null : "DNS_LISTEN"
}
