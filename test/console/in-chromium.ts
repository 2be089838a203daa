/** The console's pages in a real browser, at a server of their own. */
import axe from "axe-core"
import type { Browser, Page } from "playwright-core"
import { buildConsoleIfNeeded } from "../../bin/console.mjs"
import type { Place, ServerProcess } from "../support/server-process.ts"
import { makePlace } from "../support/server-process.ts"
import { openBrowser } from "../publishing/browser.ts"

/** Whom the demo's company belongs to. */
export const OWNER = "ada@example.com"

/** How pages are looked at: a telephone and a wide screen, light and dark. */
export const LOOKS = [
  { width: 1440, scheme: "light" },
  { width: 1440, scheme: "dark" },
  { width: 390, scheme: "light" },
  { width: 390, scheme: "dark" },
] as const

/** What is waited for comes at once, but not on a machine that is busy with something else, ms. */
export const WAITS_MS = 120_000

/** A server with the demo's company, and a browser. */
export interface Opened {
  readonly place: Place
  readonly server: ServerProcess
  readonly browser: Browser
  readonly close: () => Promise<void>
}

/** How a console's server is started. */
interface Opening {
  /** Whether the demo's company has its week of spending; else it is as new. */
  readonly hasWeek?: boolean
  /** Settings of its own. */
  readonly settings?: Readonly<Record<string, string>>
}

/** Builds the pages where that is needed, and opens a server with the demo's company. */
export async function openConsole({
  hasWeek = false,
  settings = {},
}: Opening = {}): Promise<Opened> {
  const code = await buildConsoleIfNeeded()
  if (code !== 0) throw new Error(`the console's pages cannot be built: ${code}`)
  const place = await makePlace(settings)
  const server = await place.start("--demo", ...(hasWeek ? [] : ["--no-week"]))
  const browser = await openBrowser()
  const close = async () => {
    await browser.close()
    await place.clear()
  }
  return { place, server, browser, close }
}

/** A page on which somebody is signed in, by a link of the operator's; the demo's owner where nobody is named. */
export async function signedInPage({ place, browser }: Opened, personId?: string): Promise<Page> {
  const { people } = await place.ledger("person", "list", "--company", "acme")
  const who = personId ?? people[0].personId
  const { url } = await place.ledger("console", "link", "--person", who)
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } })
  context.setDefaultTimeout(WAITS_MS)
  const page = await context.newPage()
  await page.goto(url)
  await page.getByRole("heading", { level: 1 }).waitFor()
  return page
}

/** What is spent and refused at the company, so that its pages have something to show. */
export async function spendSomething({ place }: Opened): Promise<void> {
  const { people } = await place.ledger("person", "list", "--company", "acme")
  const ai = ["--company", "acme", "--class", "ai"]
  await place.ledger("limit", "set", ...ai, "--period", "week", "--dollars", "12", "--remind", "10")
  const charge = ["charge", ...ai, "--person", people[0].personId, "--item", "chat completion"]
  for (const dollars of ["3.2", "2.75", "4.1"]) await place.ledger(...charge, "--dollars", dollars)
  // It is more than is left: what is refused is shown too.
  await place.attempt(...charge, "--dollars", "5", "--json")
}

/** The addresses of all pages: those of the navigation with their tabs, and one of each thing that a list leads to. */
export async function addressesOf(page: Page): Promise<readonly string[]> {
  const hrefs = (selector: string) =>
    page.locator(selector).evaluateAll((links) => links.map((link) => link.getAttribute("href")))
  const pages = (await hrefs("nav a")).filter((href) => href !== null)
  const found = new Set(pages)
  const things: string[] = []
  // What is added meanwhile is gone through as well: the tabs of a page.
  for (const address of found) {
    await visit(page, address)
    for (const tab of await hrefs("[data-tab]")) if (tab !== null) found.add(tab)
    const [first] = await hrefs("[data-row]")
    if (first !== undefined && first !== null) things.push(first)
  }
  return [...new Set([...found, ...things])]
}

interface Violation {
  readonly id: string
  readonly impact: string | null
  readonly nodes: readonly { readonly html: string }[]
}

/** What is wrong with a page as it is shown: too wide, or shutting somebody out. */
export async function faultsOf(page: Page): Promise<readonly string[]> {
  const beyond = await page.evaluate<number>("document.documentElement.scrollWidth - innerWidth")
  await page.evaluate(axe.source)
  const found = await page.evaluate<{ violations: readonly Violation[] }>("axe.run()")
  const serious = found.violations.filter(({ impact }) => /serious|critical/.test(String(impact)))
  return [
    ...(beyond > 0 ? [`${beyond} pixels too wide`] : []),
    ...serious.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`),
  ]
}

/** Opens a page, and waits until all that it asked for is there. */
export async function visit(page: Page, address: string): Promise<void> {
  await page.goto(new URL(address, page.url()).href, { waitUntil: "networkidle" })
  await page.getByRole("heading", { level: 1 }).waitFor()
}
