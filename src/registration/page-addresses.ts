import type { PageAddresses } from "./campaign.ts"
import type { SavedPages } from "./saved-registration.ts"

/** The preview URLs, at this service's own address. @param baseUrl without a trailing slash */
export function previewAddresses(
  baseUrl: string,
  { slug }: Pick<SavedPages, "slug">,
): PageAddresses {
  return addressesBelow(`${baseUrl}/p/${slug}`)
}

/** The public URLs; null if hosted pages have no host name yet. */
export function liveAddresses({ pages }: Pick<SavedPages, "pages">): PageAddresses | null {
  const { mode, hostname, ownTextUrl, ownTermsUrl, ownPrivacyUrl } = pages
  if (mode === "own_site") {
    if (typeof ownTextUrl !== "string") return null
    const [terms, privacy] = [ownTermsUrl ?? ownTextUrl, ownPrivacyUrl ?? ownTextUrl]
    return { texts: ownTextUrl, terms, privacy }
  }
  return typeof hostname === "string" ? addressesBelow(`https://${hostname}`) : null
}

const addressesBelow = (base: string): PageAddresses => ({
  texts: `${base}/texts`,
  terms: `${base}/terms`,
  privacy: `${base}/privacy`,
})
