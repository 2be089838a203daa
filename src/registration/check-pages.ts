/** Reads a company's pages as carriers do, and says what they would refuse. */
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

/** The check as a whole takes so long at most, milliseconds. */
const CHECK_TIMEOUT_MS = 15_000

/** What is checked. */
export interface PagesToCheck {
  readonly business: Business
  readonly pages: SavedPages
}

/** Something that a carrier would refuse. */
export interface PageFinding {
  readonly page: PageName
  readonly code: PageProblem
  readonly message: string
}

/** What a check came to. */
export interface PagesCheckResult {
  /** None: they passed. */
  readonly problems: readonly PageFinding[]
  /** What was read, by its SHA-256 in hexadecimal; null where it could not be. */
  readonly hashes: readonly { readonly page: PageName; readonly sha256: string | null }[]
}

interface PageCheckResult {
  readonly page: PageName
  readonly codes: readonly PageProblem[]
  readonly sha256: string | null
}

type CheckPorts = Pick<Ports, "siteReader" | "pacer">

/** Checks them, in fifteen seconds at most. @param isLive whether the host name of hosted ones leads here */
export async function checkPages(
  ports: CheckPorts,
  saved: PagesToCheck,
  isLive: boolean,
): Promise<PagesCheckResult> {
  const isHosted = saved.pages.pages.mode === "hosted"
  const looked = await (isHosted ? checkHostedPages(saved, isLive) : checkOwnSite(ports, saved))
  return {
    problems: looked.flatMap(({ page, codes }) =>
      codes.map((code) => ({ page, code, message: messageOf(code, isHosted) })),
    ),
    hashes: looked.map(({ page, sha256 }) => ({ page, sha256 })),
  }
}

const NOT_CONNECTED = "Nobody can read the page so far: its domain is not connected."

const messageOf = (code: PageProblem, isHosted: boolean): string =>
  isHosted && code === "unreachable" ? NOT_CONNECTED : PAGE_PROBLEMS[code]

/** The pages as they are served from here. Until their name leads here by https nobody can read them. */
async function checkHostedPages(
  { business, pages: saved }: PagesToCheck,
  isLive: boolean,
): Promise<readonly PageCheckResult[]> {
  const { findPageProblems } = await import("./page-problems.ts")
  const { pages, savedAt } = saved
  const content = { business, pages, isPreview: false, savedAt }
  return PAGE_NAMES.map((page) => {
    // Without the time that each visitor's form has: the same page has the same hash.
    const html = renderHostedPage(page, content, "")
    const codes = findPageProblems(page, html, brandNameOf(business))
    if (!isLive) return { page, codes: ["unreachable", ...codes], sha256: null }
    return { page, codes, sha256: createHash("sha256").update(html).digest("hex") }
  })
}

/** Those whose own sites are being looked at, by their slug, and when that has ended. */
const runningChecks = new Map<string, Promise<unknown>>()

/** Looks at an own site: at one company's once at a time. Whoever waits for it does so within its own time. */
async function checkOwnSite(
  ports: CheckPorts,
  { business, pages }: PagesToCheck,
): Promise<readonly PageCheckResult[]> {
  const at = liveAddresses(pages)
  if (at === null) throw new Error("an own site was saved without its addresses")
  const brand = brandNameOf(business)
  const { slug } = pages
  const previousCheck = runningChecks.get(slug)
  const looked = Promise.all(
    PAGE_NAMES.map((page) => checkPageInTime(ports, { page, url: at[page], brand, previousCheck })),
  )
  // However it ends: whoever waits for it looks by itself.
  const ended = Promise.allSettled([looked])
  runningChecks.set(slug, ended)
  try {
    return await looked
  } finally {
    if (runningChecks.get(slug) === ended) runningChecks.delete(slug)
  }
}

/** What is looked at. */
interface PageToCheck {
  readonly page: PageName
  readonly url: string
  readonly brand: string
  /** What has to end first; undefined where there is nothing. */
  readonly previousCheck: Promise<unknown> | undefined
}

async function checkPageInTime(ports: CheckPorts, asked: PageToCheck): Promise<PageCheckResult> {
  const { page } = asked
  const over = new AbortController()
  try {
    const looked = checkPage(ports, asked, over.signal)
    return await withProviderTimeout(ports.pacer, "a page", looked, CHECK_TIMEOUT_MS)
  } catch (error) {
    if (!isProviderError(error)) throw error
    return { page, codes: ["too_slow"], sha256: null }
  } finally {
    over.abort()
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
