/** Host names below one domain: each is a separate site, named by its first label. */
import { z } from "zod"

const NAME = /^(?:[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?\.)+[a-z][a-z\d-]*[a-z\d]$/

/** Base32 letters (RFC 4648 §6): safe in host names in any case, without look-alikes. */
export const BASE32_ALPHABET = "abcdefghijklmnopqrstuvwxyz234567"

/** A setting that holds a domain. */
export function domainNameSchema(example: string): z.ZodString {
  return z.string().regex(NAME, `must be a domain name in small letters, such as ${example}`)
}

/** Whether a URL's host is in a domain. A page there could set cookies for the whole domain. */
export function isUrlInDomain(address: string | undefined, domain: string): boolean {
  if (address === undefined || !URL.canParse(address)) return false
  return isHostInDomain(new URL(address).hostname.toLowerCase(), domain)
}

/** Whether a host name is a domain or below it. */
export function isHostInDomain(host: string, domain: string): boolean {
  return host === domain || host.endsWith(`.${domain}`)
}

/** Returns the part of a host name before a domain; null if there is none. */
export function subdomainOf(host: string, domain: string): string | null {
  return host.endsWith(`.${domain}`) ? host.slice(0, -domain.length - 1) : null
}

export interface SiteAddress {
  /** Includes the port unless it is the scheme's default. */
  readonly host: string
  readonly url: string
}

/** Returns a site's address, with the scheme and port of this service's base URL. */
export function siteAddressOf(baseUrl: string, name: string): SiteAddress {
  const { protocol, port } = new URL(baseUrl)
  const host = port === "" ? name : `${name}:${port}`
  return { host, url: `${protocol}//${host}/` }
}
