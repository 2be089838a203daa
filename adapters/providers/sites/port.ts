/** Reads pages of sites that strangers name. */

/** Why a page could not be read. */
export type SiteProblemCode =
  "unreachable" | "not_https" | "login_needed" | "too_large" | "too_slow" | "blocked_address"

/** A page that could not be read. */
export interface SiteProblem {
  readonly kind: "problem"
  readonly code: SiteProblemCode
}

export interface SitePage {
  readonly kind: "page"
  readonly html: string
  /** SHA-256 of the decompressed bytes, in hexadecimal. */
  readonly sha256: string
  /** The address after all redirects. */
  readonly url: string
}

/** The result of reading a page. */
export type SiteAnswer = SitePage | SiteProblem

export interface SiteReader {
  /**
   * Reads the page at an untrusted address: only HTTPS on port 443, only public addresses, within
   * ten seconds and one megabyte. Problems of the site are returned, not thrown.
   */
  readonly read: (url: string) => Promise<SiteAnswer>
}
