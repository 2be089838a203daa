/** Where a company's pages are. */
import type { PageAddresses } from "./campaign.ts"
import type { SavedPages } from "./saved-registration.ts"

/** Their preview, at this service's own address. @param baseUrl without a slash at the end */
export function previewAddresses(
  baseUrl: string,
  { slug }: Pick<SavedPages, "slug">,
): PageAddresses {
  return addressesBelow(`${baseUrl}/p/${slug}`)
}

/** Where people read them, and carriers; null where hosted ones have no host name so far. */
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
