/** Reading pages of sites that strangers name, as a browser without a person would. */

/** Why a page could not be read. */
export type SiteProblemCode =
  "unreachable" | "not_https" | "login_needed" | "too_large" | "too_slow" | "blocked_address"

/** A page that could not be read. */
export interface SiteProblem {
  readonly kind: "problem"
  readonly code: SiteProblemCode
}

/** A page as it was read. */
export interface SitePage {
  readonly kind: "page"
  readonly html: string
  /** Of its bytes as they were before they were compressed, in hexadecimal. */
  readonly sha256: string
  /** Where it was, once every redirect was followed. */
  readonly url: string
}

/** What came of reading a page. */
export type SiteAnswer = SitePage | SiteProblem

/** Reads pages. */
export interface SiteReader {
  /**
   * Reads the page at an address, whoever named it: by https at the usual port, from public addresses alone,
   * in ten seconds and a megabyte at most. It never throws for what a site does.
   */
  readonly read: (url: string) => Promise<SiteAnswer>
}
