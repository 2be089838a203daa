/** Looking at the console's pages in a browser: opening them, waiting for all of them, and what is wrong with them. */
import axe from "axe-core"
import type { Browser, Page, Request } from "playwright-core"

/** How pages are looked at: a telephone and a wide screen, light and dark. */
export const VIEW_MODES = [
  { width: 1440, scheme: "light" },
  { width: 1440, scheme: "dark" },
  { width: 390, scheme: "light" },
  { width: 390, scheme: "dark" },
] as const

/** One of them. */
export type ViewMode = (typeof VIEW_MODES)[number]

/** What is waited for comes at once, but not on a machine that is busy with something else, ms. */
const WAITS_MS = 120_000

const HEIGHT = 900

/** What pages asked for and was not answered yet. */
const unanswered = new WeakMap<Page, Set<Request>>()

/** A page in a browser of its own, which nothing moves on: what changes is there at once. */
export async function newPage(browser: Browser): Promise<Page> {
  const context = await browser.newContext({
    viewport: { width: VIEW_MODES[0].width, height: HEIGHT },
    reducedMotion: "reduce",
  })
  context.setDefaultTimeout(WAITS_MS)
  const page = await context.newPage()
  const asked = new Set<Request>()
  unanswered.set(page, asked)
  page.on("request", (request) => asked.add(request))
  page.on("requestfinished", (request) => asked.delete(request))
  page.on("requestfailed", (request) => asked.delete(request))
  return page
}

/** What a look is like, without loading anything anew. */
export async function setViewMode(page: Page, { width, scheme }: ViewMode): Promise<void> {
  await page.setViewportSize({ width, height: HEIGHT })
  await page.emulateMedia({ colorScheme: scheme })
}

/** Waits until all that a page asked for is there, and shown. */
export async function untilPageSettles(page: Page): Promise<void> {
  const asked = unanswered.get(page)
  if (asked === undefined) throw new Error("nobody counted what this page asked for")
  const loading = page.getByLabel("Loading", { exact: true })
  do {
    await page.getByRole("heading", { level: 1 }).first().waitFor()
    await loading.first().waitFor({ state: "hidden" })
    // What an answer leads to is asked for by the time that it is shown.
    await page.evaluate(TWO_FRAMES)
    for (const request of asked) await request.response().then((answer) => answer?.finished())
  } while (asked.size > 0 || (await loading.count()) > 0)
  await page.evaluate(TWO_FRAMES)
}

const TWO_FRAMES = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"

/** Opens a page, and waits until all that it asked for is there. */
export async function openAndSettle(page: Page, address: string): Promise<void> {
  await page.goto(new URL(address, page.url()).href)
  await untilPageSettles(page)
}

/** The addresses of all pages: those of the navigation with their tabs, and one of each thing that a list leads to. */
export async function pageAddressesOf(
  page: Page,
  each: (address: string) => Promise<void> = async () => undefined,
): Promise<readonly string[]> {
  const hrefs = (selector: string) =>
    page.locator(selector).evaluateAll((links) => links.map((link) => link.getAttribute("href")))
  const pages = (await hrefs("nav a")).filter((href) => href !== null)
  const found = new Set(pages)
  const things = new Set<string>()
  // What is added meanwhile is gone through as well: the tabs of a page.
  for (const address of found) {
    await openAndSettle(page, address)
    for (const tab of await hrefs("[data-tab]")) if (tab !== null) found.add(tab)
    const [first] = await hrefs("[data-row]")
    if (first !== undefined && first !== null) things.add(first)
    await each(address)
  }
  for (const thing of things) {
    if (found.has(thing)) continue
    await openAndSettle(page, thing)
    await each(thing)
  }
  return [...new Set([...found, ...things])]
}

interface Violation {
  readonly id: string
  readonly impact: string | null
  readonly nodes: readonly { readonly html: string }[]
}

/** What axe asks about a page that comes out otherwise where its colours are others. */
export const COLOR_RULES = ["color-contrast", "link-in-text-block"]

/** What is wrong with a page as it is shown: too wide, or shutting somebody out. @param rules all where none are named */
export async function pageFaultsOf(
  page: Page,
  rules?: readonly string[],
): Promise<readonly string[]> {
  await untilPageSettles(page)
  if (!(await page.evaluate<boolean>("'axe' in globalThis"))) await page.evaluate(axe.source)
  const options = {
    resultTypes: ["violations"],
    ...(rules === undefined ? {} : { runOnly: rules }),
  }
  const { violations } = await page.evaluate<{ violations: readonly Violation[] }>(
    `axe.run(${JSON.stringify(options)})`,
  )
  const serious = violations.filter(({ impact }) => /serious|critical/.test(String(impact)))
  return [
    ...(await pageWidthFaultsOf(page)),
    ...serious.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`),
  ]
}

/** A page that is narrower by then was only being laid out anew: a chart draws itself again once it is told its width. */
const NARROW_WITHIN_MS = 10_000

/** Whether a page stays wider than what it is looked at by. */
export async function pageWidthFaultsOf(page: Page): Promise<readonly string[]> {
  const beyond = () => page.evaluate<number>("document.documentElement.scrollWidth - innerWidth")
  const until = Date.now() + NARROW_WITHIN_MS
  while ((await beyond()) > 0 && Date.now() < until) await page.evaluate(TWO_FRAMES)
  const still = await beyond()
  return still > 0 ? [`${still} pixels too wide`] : []
}
