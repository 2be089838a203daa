/** Host names of one domain: each is a site of its own beside the API, told by its first label. */
import { z } from "zod"

const NAME = /^(?:[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?\.)+[a-z][a-z\d-]*[a-z\d]$/

/** The letters that host names take in any case, without those that look alike (RFC 4648 §6). */
export const BASE32_ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"

/** A setting that is a domain. */
export function domainNameSchema(example: string): z.ZodString {
  return z.string().regex(NAME, `must be a domain name in small letters, such as ${example}`)
}

/** Whether an address is of a domain, or below it: a page of the one could set cookies for the other. */
export function isUrlInDomain(address: string | undefined, domain: string): boolean {
  if (address === undefined || !URL.canParse(address)) return false
  return isHostInDomain(new URL(address).hostname.toLowerCase(), domain)
}

/** Whether a host name is a domain, or below it. */
export function isHostInDomain(host: string, domain: string): boolean {
  return host === domain || host.endsWith(`.${domain}`)
}

/** What stands before a domain in a host name; null where nothing does. */
export function subdomainOf(host: string, domain: string): string | null {
  return host.endsWith(`.${domain}`) ? host.slice(0, -domain.length - 1) : null
}

/** Where a site is. */
export interface SiteAddress {
  /** With its port where it is not the scheme's own. */
  readonly host: string
  readonly url: string
}

/** The site of a host name: at the scheme and port of this service's own address. */
export function siteAddressOf(baseUrl: string, name: string): SiteAddress {
  const { protocol, port } = new URL(baseUrl)
  const host = port === "" ? name : `${name}:${port}`
  return { host, url: `${protocol}//${host}/` }
}
