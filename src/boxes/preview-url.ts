/** The links of previews: a host name of its own for each, that nobody can guess. */
import { createHash, randomBytes } from "node:crypto"
import { BASE32_ALPHABET, subdomainOf, siteAddressOf } from "../frame/kernel/sites.ts"
import type { Ports } from "../frame/ports.ts"
import { boxSettings } from "./settings.ts"

const TOKEN_LENGTH = 26
const TOKEN = /^[a-z2-7]{26}$/

/** A new name: 130 bits of chance, in letters that a host name takes. */
export function newPreviewToken(): string {
  return Array.from(
    randomBytes(TOKEN_LENGTH),
    (byte) => BASE32_ALPHABET[byte % BASE32_ALPHABET.length],
  ).join("")
}

/** What a name is found by: knowing it, nobody knows the name. */
export function previewTokenHash(token: string): string {
  return createHash("sha256").update(token).digest("hex")
}

/** The link of a name: at the scheme and port of this service's own address. */
export function previewUrl(
  { baseUrl, settings }: Pick<Ports, "baseUrl" | "settings">,
  token: string,
): string {
  return siteAddressOf(baseUrl(), `${token}.${settings(boxSettings).BOX_DOMAIN}`).url
}

/** The name that a host name begins with; null where it is none of a preview. */
export function parsePreviewToken(host: string, domain: string): string | null {
  const token = subdomainOf(host, domain)
  return token !== null && TOKEN.test(token) ? token : null
}
