/** What of name servers and of looking at the world's names an operator sets. */
import { isIP, isIPv6 } from "node:net"
import { z } from "zod"
import { defineSettings } from "../../frame/settings.ts"

const RESOLVER =
  "must be system, or addresses with commas between them, such as 192.0.2.1,[2001:db8::1]:53"
const LISTEN = "must be an address and a port, such as 0.0.0.0:53 or [::]:53"

const ADDRESS_WITH_PORT = /^(?:\[([0-9a-f:]+)\]|([\d.]+)):(\d{1,5})$/i

/** Where a name server listens. */
export interface ListenAddress {
  readonly host: string
  /** 0: any that is free. */
  readonly port: number
}

/** An address with a port, an IPv6 one in brackets; null where it is none. */
export function parseListenAddress(text: string): ListenAddress | null {
  const [, v6, v4, digits] = ADDRESS_WITH_PORT.exec(text) ?? []
  const host = v6 ?? v4 ?? ""
  const port = Number(digits)
  return isIP(host) !== 0 && isIPv6(host) === (v6 !== undefined) && port <= 65_535
    ? { host, port }
    : null
}

/** Whether nobody but this machine reaches an address. */
const isLoopback = ({ host }: ListenAddress): boolean =>
  host === "::1" || (!isIPv6(host) && host.startsWith("127."))

const isResolverList = (text: string): boolean =>
  text === "system" ||
  text.split(",").every((one) => isIP(one.trim()) !== 0 || parseListenAddress(one.trim()) !== null)

/** Whom we ask, where we answer, and whether PowerDNS answers instead. */
export const dnsSettings = defineSettings({
  from: import.meta.url,
  schema: z.object({
    DNS_RESOLVER: z.string().refine(isResolverList, RESOLVER).optional(),
    DNS_LISTEN: z
      .string()
      .refine((text) => parseListenAddress(text) !== null, LISTEN)
      .optional(),
    POWERDNS_URL: z
      .url({ protocol: /^https?$/, error: "must be an address such as http://127.0.0.1:8081" })
      .optional(),
    POWERDNS_KEY: z.string().min(1).optional(),
  }),
  secret: ["POWERDNS_KEY"],
  faults: (given) => {
    const isPowerDns = given["POWERDNS_URL"] !== undefined
    const faults: string[] = []
    if (isPowerDns !== (given["POWERDNS_KEY"] !== undefined)) {
      faults.push("POWERDNS_URL and POWERDNS_KEY are set together.")
    }
    if (isPowerDns && given["DNS_LISTEN"] !== undefined) {
      faults.push("POWERDNS_URL and DNS_LISTEN name two name servers: set one.")
    }
    const real = publicNameServerSetting(given)
    if (real !== null && given["DNS_RESOLVER"] === undefined) {
      faults.push(
        `${real} answers the world, and the built-in resolver believes that every domain is its caller's: ` +
          "set DNS_RESOLVER, to system for that of this machine.",
      )
    }
    return faults
  },
})

/** The setting by which names are answered for strangers; null where this machine alone can ask. */
export function publicNameServerSetting(given: Readonly<Record<string, string>>): string | null {
  if (given["POWERDNS_URL"] !== undefined) return "POWERDNS_URL"
  const place = parseListenAddress(given["DNS_LISTEN"] ?? "")
  return place === null || isLoopback(place) ? null : "DNS_LISTEN"
}
