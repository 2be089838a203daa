/** Opens the console's pages in a browser, waits until they have loaded, and finds their faults. */
import axe from "axe-core"
import type { Browser, Page, Request } from "playwright-core"

/** A wide screen and a phone, light and dark. */
export const VIEW_MODES = [
  { width: 1440, scheme: "light" },
  { width: 1440, scheme: "dark" },
  { width: 390, scheme: "light" },
  { width: 390, scheme: "dark" },
] as const

export type ViewMode = (typeof VIEW_MODES)[number]

/** Elements appear immediately, except on a busy machine. */
const DEFAULT_TIMEOUT_MS = 120_000

const HEIGHT = 900

/** Requests of pages that have no response yet. */
const pendingRequests = new WeakMap<Page, Set<Request>>()

/** Opens a page with a profile of its own, without animations: changes show immediately. */
export async function newPage(browser: Browser): Promise<Page> {
  const context = await browser.newContext({
    viewport: { width: VIEW_MODES[0].width, height: HEIGHT },
    reducedMotion: "reduce",
  })
  context.setDefaultTimeout(DEFAULT_TIMEOUT_MS)
  const page = await context.newPage()
  const pending = new Set<Request>()
  pendingRequests.set(page, pending)
  page.on("request", (request) => pending.add(request))
  page.on("requestfinished", (request) => pending.delete(request))
  page.on("requestfailed", (request) => pending.delete(request))
  return page
}

/** Changes the view mode without loading the page again. */
export async function setViewMode(page: Page, { width, scheme }: ViewMode): Promise<void> {
  await page.setViewportSize({ width, height: HEIGHT })
  await page.emulateMedia({ colorScheme: scheme })
}

/** Waits until all responses to a page's requests have arrived and are shown. */
export async function untilPageSettles(page: Page): Promise<void> {
  const pending = pendingRequests.get(page)
  if (pending === undefined) throw new Error("the page was not opened with newPage")
  const loading = page.getByLabel("Loading", { exact: true })
  do {
    await page.getByRole("heading", { level: 1 }).first().waitFor()
    await loading.first().waitFor({ state: "hidden" })
    // A response may cause further requests, which have started once the response is shown.
    await page.evaluate(TWO_FRAMES)
    for (const request of pending) await request.response().then((answer) => answer?.finished())
  } while (pending.size > 0 || (await loading.count()) > 0)
  await page.evaluate(TWO_FRAMES)
}

const TWO_FRAMES = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"

/** Opens a page, and waits until it settles. */
export async function openAndSettle(page: Page, address: string): Promise<void> {
  await page.goto(new URL(address, page.url()).href)
  await untilPageSettles(page)
}

/** The addresses of all pages: those of the navigation, their tabs, and one detail page of each list. */
export async function pageAddressesOf(
  page: Page,
  each: (address: string) => Promise<void> = async () => undefined,
): Promise<readonly string[]> {
  const hrefs = (selector: string) =>
    page.locator(selector).evaluateAll((links) => links.map((link) => link.getAttribute("href")))
  const pages = (await hrefs("nav a")).filter((href) => href !== null)
  const found = new Set(pages)
  const detailPages = new Set<string>()
  // The loop also visits the tabs that it adds.
  for (const address of found) {
    await openAndSettle(page, address)
    for (const tab of await hrefs("[data-tab]")) if (tab !== null) found.add(tab)
    const [first] = await hrefs("[data-row]")
    if (first !== undefined && first !== null) detailPages.add(first)
    await each(address)
  }
  for (const detailPage of detailPages) {
    if (found.has(detailPage)) continue
    await openAndSettle(page, detailPage)
    await each(detailPage)
  }
  return [...new Set([...found, ...detailPages])]
}

interface Violation {
  readonly id: string
  readonly impact: string | null
  readonly nodes: readonly { readonly html: string }[]
}

/** Rules of axe whose result depends on colors. */
export const COLOR_RULES = ["color-contrast", "link-in-text-block"]

/** Finds a page's faults: overflow and accessibility. @param rules rules of axe; all by default */
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

/** A page that overflows only while a chart redraws itself has settled after this time. */
const NARROW_WITHIN_MS = 10_000

/** Reports a page that stays wider than the viewport. */
export async function pageWidthFaultsOf(page: Page): Promise<readonly string[]> {
  const overflow = () => page.evaluate<number>("document.documentElement.scrollWidth - innerWidth")
  const until = Date.now() + NARROW_WITHIN_MS
  while ((await overflow()) > 0 && Date.now() < until) await page.evaluate(TWO_FRAMES)
  const pixels = await overflow()
  return pixels > 0 ? [`${pixels} pixels too wide`] : []
}
