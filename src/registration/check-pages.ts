import { createHash } from "node:crypto"
import { withProviderTimeout, isProviderError } from "../../adapters/providers/provider-errors.ts"
import type { Ports } from "../frame/ports.ts"
import type { Business } from "./business.ts"
import { brandNameOf } from "./business.ts"
import { renderHostedPage } from "./hosted-pages.ts"
import { findProblemsInThread } from "./page-analysis.ts"
import { liveAddresses } from "./page-addresses.ts"
import type { PageProblem } from "./page-problem-messages.ts"
import { PAGE_PROBLEMS } from "./page-problem-messages.ts"
import type { PageName } from "./texting-pages.ts"
import { PAGE_NAMES } from "./texting-pages.ts"
import type { SavedPages } from "./saved-registration.ts"

/** Limit of a complete check, milliseconds. */
const CHECK_TIMEOUT_MS = 15_000

/** The details that a check needs. */
export interface PagesToCheck {
  readonly business: Business
  readonly pages: SavedPages
}

/** A problem that a carrier would reject. */
export interface PageFinding {
  readonly page: PageName
  readonly code: PageProblem
  readonly message: string
}

export interface PagesCheckResult {
  /** Empty if the pages passed. */
  readonly problems: readonly PageFinding[]
  /** SHA-256 of each page in hexadecimal; null if it could not be read. */
  readonly hashes: readonly { readonly page: PageName; readonly sha256: string | null }[]
}

interface PageCheckResult {
  readonly page: PageName
  readonly codes: readonly PageProblem[]
  readonly sha256: string | null
}

type CheckPorts = Pick<Ports, "siteReader" | "pacer">

/** Checks a company's pages, within 15 s. @param isLive whether the host name of hosted pages points here */
export async function checkPages(
  ports: CheckPorts,
  saved: PagesToCheck,
  isLive: boolean,
): Promise<PagesCheckResult> {
  const isHosted = saved.pages.pages.mode === "hosted"
  const results = await (isHosted ? checkHostedPages(saved, isLive) : checkOwnSite(ports, saved))
  return {
    problems: results.flatMap(({ page, codes }) =>
      codes.map((code) => ({ page, code, message: messageOf(code, isHosted) })),
    ),
    hashes: results.map(({ page, sha256 }) => ({ page, sha256 })),
  }
}

const NOT_CONNECTED = "The page is not public yet: its domain is not connected."

const messageOf = (code: PageProblem, isHosted: boolean): string =>
  isHosted && code === "unreachable" ? NOT_CONNECTED : PAGE_PROBLEMS[code]

/** Checks hosted pages as they are served. They are unreachable until their host name points here by https. */
async function checkHostedPages(
  { business, pages: saved }: PagesToCheck,
  isLive: boolean,
): Promise<readonly PageCheckResult[]> {
  const { findPageProblems } = await import("./page-problems.ts")
  const { pages, savedAt } = saved
  const content = { business, pages, isPreview: false, savedAt }
  return PAGE_NAMES.map((page) => {
    // Without the time in each visitor's form, so that the same page has the same hash.
    const html = renderHostedPage(page, content, "")
    const codes = findPageProblems(page, html, brandNameOf(business))
    if (!isLive) return { page, codes: ["unreachable", ...codes], sha256: null }
    return { page, codes, sha256: createHash("sha256").update(html).digest("hex") }
  })
}

/** The running check of each own site, by slug. */
const runningChecks = new Map<string, Promise<unknown>>()

/** Checks an own site. Checks of one company run one after another; the wait counts towards its own limit. */
async function checkOwnSite(
  ports: CheckPorts,
  { business, pages }: PagesToCheck,
): Promise<readonly PageCheckResult[]> {
  const at = liveAddresses(pages)
  if (at === null) throw new Error("an own site was saved without its addresses")
  const brand = brandNameOf(business)
  const { slug } = pages
  const previousCheck = runningChecks.get(slug)
  const results = Promise.all(
    PAGE_NAMES.map((page) => checkPageInTime(ports, { page, url: at[page], brand, previousCheck })),
  )
  // A later check continues however this one ends.
  const ended = Promise.allSettled([results])
  runningChecks.set(slug, ended)
  try {
    return await results
  } finally {
    if (runningChecks.get(slug) === ended) runningChecks.delete(slug)
  }
}

interface PageToCheck {
  readonly page: PageName
  readonly url: string
  readonly brand: string
  readonly previousCheck: Promise<unknown> | undefined
}

async function checkPageInTime(ports: CheckPorts, target: PageToCheck): Promise<PageCheckResult> {
  const { page } = target
  const controller = new AbortController()
  try {
    const results = checkPage(ports, target, controller.signal)
    return await withProviderTimeout(ports.pacer, "a page", results, CHECK_TIMEOUT_MS)
  } catch (error) {
    if (!isProviderError(error)) throw error
    return { page, codes: ["too_slow"], sha256: null }
  } finally {
    controller.abort()
  }
}

async function checkPage(
  { siteReader }: CheckPorts,
  { page, url, brand, previousCheck }: PageToCheck,
  signal: AbortSignal,
): Promise<PageCheckResult> {
  if (previousCheck !== undefined) await previousCheck
  signal.throwIfAborted()
  const answer = await siteReader.read(url)
  if (answer.kind === "problem") return { page, codes: [answer.code], sha256: null }
  const { html, sha256 } = answer
  return { page, codes: await findProblemsInThread({ page, html, brand }, signal), sha256 }
}
