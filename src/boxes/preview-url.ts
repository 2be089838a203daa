/** The URLs of preview links: each has a host name that cannot be guessed. */
import { createHash, randomBytes } from "node:crypto"
import { BASE32_ALPHABET, subdomainOf, siteAddressOf } from "../frame/kernel/sites.ts"
import type { Ports } from "../frame/ports.ts"
import { boxSettings } from "./settings.ts"

const TOKEN_LENGTH = 26
const TOKEN = /^[a-z2-7]{26}$/

/** Creates a token of 130 random bits, in letters that are valid in a host name. */
export function newPreviewToken(): string {
  return Array.from(
    randomBytes(TOKEN_LENGTH),
    (byte) => BASE32_ALPHABET[byte % BASE32_ALPHABET.length],
  ).join("")
}

/** The stored hash of a token: it finds the link without revealing its URL. */
export function previewTokenHash(token: string): string {
  return createHash("sha256").update(token).digest("hex")
}

/** The URL of a link, with the scheme and port of this service. */
export function previewUrl(
  { baseUrl, settings }: Pick<Ports, "baseUrl" | "settings">,
  token: string,
): string {
  return siteAddressOf(baseUrl(), `${token}.${settings(boxSettings).BOX_DOMAIN}`).url
}

/** Reads the token from a host name; null if it is not a preview's. */
export function parsePreviewToken(host: string, domain: string): string | null {
  const token = subdomainOf(host, domain)
  return token !== null && TOKEN.test(token) ? token : null
}
