import ipaddr from "ipaddr.js"
import { z } from "zod"
import { domainNameSchema } from "../frame/kernel/sites.ts"
import { defineSettings } from "../frame/settings.ts"

const ADDRESSES = "must be addresses separated by commas, for example 203.0.113.7,2001:db8::7"
const MECHANISMS = "must be SPF mechanisms separated by spaces, for example include:spf.example"

/** The settings of connected domains: name servers, addresses of apps, and additional senders of our mail. */
export const domainsSettings = defineSettings({
  from: import.meta.url,
  schema: z.object({
    NS_DOMAIN: domainNameSchema("ns.example.com").default("ns.localhost"),
    EDGE_ADDRESSES: z
      .string()
      .refine((text) => addressesIn(text).every(isAddress), ADDRESSES)
      .default("127.0.0.1"),
    MAIL_SPF: z
      .string()
      .regex(/^[a-z0-9]+[:/=][\w.:/-]+( [a-z0-9]+[:/=][\w.:/-]+)*$/i, MECHANISMS)
      .optional(),
  }),
})

const addressesIn = (text: string): readonly string[] => text.split(",").map((one) => one.trim())

const isAddress = (text: string): boolean =>
  ipaddr.IPv4.isValidFourPartDecimal(text) || (ipaddr.IPv6.isValid(text) && !text.includes("%"))

/** The addresses at which apps are served and from which our mail is sent. */
export function edgeAddresses({ EDGE_ADDRESSES }: { readonly EDGE_ADDRESSES: string }): {
  readonly ipv4: readonly string[]
  readonly ipv6: readonly string[]
} {
  const all = addressesIn(EDGE_ADDRESSES)
  return {
    ipv4: all.filter((one) => !one.includes(":")),
    ipv6: all.filter((one) => one.includes(":")).map((one) => ipaddr.IPv6.parse(one).toString()),
  }
}
