/** Hosted pages in a real browser: without scripts, on small and large screens, and with accessibility checks. */
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import type { AddressInfo } from "node:net"
import axe from "axe-core"
import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, expect, it } from "vitest"
import { noChromiumReason, openChromium } from "../publishing/chromium.ts"
import { openDomainWorld } from "../domains/domain-world.ts"
import type { Company, World } from "../support/world.ts"
import { makeHostedPages, optInsOf } from "./opt-in-pages.ts"

const TIMEOUT_MS = 90_000
/** Folder for screenshots of the pages; none are taken if it is not set. */
const SCREENSHOT_DIR = process.env["PICTURES_DIR"]
const WIDTHS = [390, 1440]

let world: World
let company: Company
let browser: Browser
let live: string
let preview: string
beforeAll(async () => {
  if (noChromiumReason !== null) return
  world = await openDomainWorld()
  const business = { brandName: "Acme Bakery & Sons" }
  const hosted = await makeHostedPages(world, { business })
  company = hosted.company
  await world.app.listen({ port: 0, host: "127.0.0.1" })
  const { port } = world.app.server.address() as AddressInfo
  live = `http://${hosted.hostname}:${port}`
  preview = `http://127.0.0.1:${port}${hosted.preview}`
  // Resolves the host name as the company's DNS would.
  browser = await openChromium([`--host-resolver-rules=MAP ${hosted.hostname} 127.0.0.1`])
}, TIMEOUT_MS)
afterAll(async () => {
  if (noChromiumReason !== null) return
  await browser.close()
  await world.close()
}, TIMEOUT_MS)

async function takeScreenshot(page: Page, name: string): Promise<void> {
  if (SCREENSHOT_DIR === undefined) return
  mkdirSync(SCREENSHOT_DIR, { recursive: true })
  await page.screenshot({ path: join(SCREENSHOT_DIR, `${name}.png`), fullPage: true })
}

async function accessibilityViolations(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe.source)
  const { violations } = await page.evaluate<{
    violations: { id: string; impact: string; nodes: { html: string }[] }[]
  }>("axe.run()")
  return violations.map(({ id, impact, nodes }) => `${impact} ${id}: ${nodes[0]?.html}`)
}

it("visitors can opt in without scripts", { timeout: TIMEOUT_MS }, async (ctx) => {
  ctx.skip(noChromiumReason !== null, String(noChromiumReason))
  const context = await browser.newContext({ javaScriptEnabled: false })
  const page = await context.newPage()
  await page.goto(`${live}/`)
  expect(page.url()).toBe(`${live}/texts`)
  await world.operate("clock advance", { duration: "1m" })
  const [phone, name] = [page.getByLabel("Mobile number"), page.getByLabel("First name")]
  await phone.fill("(415) 555-0171")
  await name.fill("Ada")
  const service = page.getByRole("checkbox", { name: "about orders" })
  const send = page.getByRole("button", { name: "Agree to texts" })
  // No box is checked in advance or required by the browser; the page explains what is missing.
  expect(await page.getByRole("checkbox", { checked: true }).count()).toBe(0)
  await send.click()
  expect(await page.getByRole("alert").textContent()).toContain("Tick at least one box")
  expect([await phone.inputValue(), await name.inputValue()]).toEqual(["(415) 555-0171", "Ada"])
  await takeScreenshot(page, "fault")
  await service.check()
  await send.click()
  expect(page.url()).toBe(`${live}/thanks`)
  expect(await page.getByRole("heading", { level: 1 }).textContent()).toBe("Thank you")
  await takeScreenshot(page, "thanks")
  expect(await optInsOf(world, company)).toMatchObject([
    { phone: "+14155550171", firstName: "Ada", service: true, offers: false },
  ])
  await context.close()
})

it.for(WIDTHS)(
  "each page fits and is accessible at a width of %s px",
  { timeout: TIMEOUT_MS },
  async (width, ctx) => {
    ctx.skip(noChromiumReason !== null, String(noChromiumReason))
    // The accessibility check is a script, which the pages' own policy would block.
    const context = await browser.newContext({
      viewport: { width, height: 844 },
      bypassCSP: true,
    })
    const page = await context.newPage()
    const urls = ["texts", "terms", "privacy", "thanks"].map((name) => `${live}/${name}`)
    for (const url of [...urls, `${preview}/texts`]) {
      await page.goto(url)
      const name = new URL(url).pathname.split("/").at(-1)
      await takeScreenshot(page, `${url.startsWith(live) ? "live" : "preview"}-${name}-${width}`)
      const wide = await page.evaluate<number>("document.documentElement.scrollWidth")
      expect([url, wide]).toEqual([url, width])
      expect([url, await accessibilityViolations(page)]).toEqual([url, []])
    }
    await context.close()
  },
)
