/** Reads a company's pages as carriers do, and says what they would refuse. */
import { createHash } from "node:crypto"
import { inTime, isOutside } from "../../adapters/providers/outside.ts"
import type { Ports } from "../frame/ports.ts"
import type { Business } from "./business.ts"
import { brandNameOf } from "./business.ts"
import { pageOf } from "./hosted-pages.ts"
import { problemsApart } from "./looking-through.ts"
import { liveAddresses } from "./page-addresses.ts"
import type { PageProblem } from "./problem-words.ts"
import { PAGE_PROBLEMS } from "./problem-words.ts"
import type { PageName } from "./pages.ts"
import { PAGE_NAMES } from "./pages.ts"
import type { SavedPages } from "./saved.ts"

/** The check as a whole takes so long at most, milliseconds. */
const WITHIN_MS = 15_000

/** What is checked. */
export interface CheckedPages {
  readonly business: Business
  readonly pages: SavedPages
}

/** Something that a carrier would refuse. */
export interface FoundProblem {
  readonly page: PageName
  readonly code: PageProblem
  readonly message: string
}

/** What a check came to. */
export interface PagesCheck {
  /** None: they passed. */
  readonly problems: readonly FoundProblem[]
  /** What was read, by its SHA-256 in hexadecimal; null where it could not be. */
  readonly read: readonly { readonly page: PageName; readonly sha256: string | null }[]
}

interface Looked {
  readonly page: PageName
  readonly codes: readonly PageProblem[]
  readonly sha256: string | null
}

type CheckPorts = Pick<Ports, "sites" | "pacer">

/** Checks them, in fifteen seconds at most. @param isLive whether the host name of hosted ones leads here */
export async function checkPages(
  ports: CheckPorts,
  saved: CheckedPages,
  isLive: boolean,
): Promise<PagesCheck> {
  const isHosted = saved.pages.pages.mode === "hosted"
  const looked = await (isHosted ? lookAtHosted(saved, isLive) : lookAtOwn(ports, saved))
  return {
    problems: looked.flatMap(({ page, codes }) =>
      codes.map((code) => ({ page, code, message: messageOf(code, isHosted) })),
    ),
    read: looked.map(({ page, sha256 }) => ({ page, sha256 })),
  }
}

const NOT_CONNECTED = "Nobody can read the page so far: its domain is not connected."

const messageOf = (code: PageProblem, isHosted: boolean): string =>
  isHosted && code === "unreachable" ? NOT_CONNECTED : PAGE_PROBLEMS[code]

/** The pages as they are served from here. Until their name leads here by https nobody can read them. */
async function lookAtHosted(
  { business, pages: saved }: CheckedPages,
  isLive: boolean,
): Promise<readonly Looked[]> {
  const { problemsIn } = await import("./page-problems.ts")
  const { pages, savedAt } = saved
  const content = { business, pages, isPreview: false, savedAt }
  return PAGE_NAMES.map((page) => {
    // Without the time that each visitor's form has: the same page has the same hash.
    const html = pageOf(page, content, "")
    const codes = problemsIn(page, html, brandNameOf(business))
    if (!isLive) return { page, codes: ["unreachable", ...codes], sha256: null }
    return { page, codes, sha256: createHash("sha256").update(html).digest("hex") }
  })
}

/** Those whose own sites are being looked at, by their slug, and when that has ended. */
const going = new Map<string, Promise<unknown>>()

/** Looks at an own site: at one company's once at a time. Whoever waits for it does so within its own time. */
async function lookAtOwn(
  ports: CheckPorts,
  { business, pages }: CheckedPages,
): Promise<readonly Looked[]> {
  const at = liveAddresses(pages)
  if (at === null) throw new Error("an own site was saved without its addresses")
  const brand = brandNameOf(business)
  const { slug } = pages
  const before = going.get(slug)
  const looked = Promise.all(
    PAGE_NAMES.map((page) => lookInTime(ports, { page, url: at[page], brand, before })),
  )
  // However it ends: whoever waits for it looks by itself.
  const ended = Promise.allSettled([looked])
  going.set(slug, ended)
  try {
    return await looked
  } finally {
    if (going.get(slug) === ended) going.delete(slug)
  }
}

/** What is looked at. */
interface ToLook {
  readonly page: PageName
  readonly url: string
  readonly brand: string
  /** What has to end first; undefined where there is nothing. */
  readonly before: Promise<unknown> | undefined
}

async function lookInTime(ports: CheckPorts, asked: ToLook): Promise<Looked> {
  const { page } = asked
  const over = new AbortController()
  try {
    const looked = lookAtOne(ports, asked, over.signal)
    return await inTime(ports.pacer, "a page", looked, WITHIN_MS)
  } catch (error) {
    if (!isOutside(error)) throw error
    return { page, codes: ["too_slow"], sha256: null }
  } finally {
    over.abort()
  }
}

async function lookAtOne(
  { sites }: CheckPorts,
  { page, url, brand, before }: ToLook,
  signal: AbortSignal,
): Promise<Looked> {
  if (before !== undefined) await before
  signal.throwIfAborted()
  const answer = await sites.read(url)
  if (answer.is === "problem") return { page, codes: [answer.code], sha256: null }
  const { html, sha256 } = answer
  return { page, codes: await problemsApart({ page, html, brand }, signal), sha256 }
}
