/** Hosted pages in a real browser: without script, on a phone and on a desk, and for who cannot see them. */
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

const WITHIN_MS = 90_000
/** Where pictures of the pages are put, to be looked at; nowhere where it is not set. */
const PICTURES = process.env["PICTURES_DIR"]
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
  // As the company's DNS leads there.
  browser = await openChromium([`--host-resolver-rules=MAP ${hosted.hostname} 127.0.0.1`])
}, WITHIN_MS)
afterAll(async () => {
  if (noChromiumReason !== null) return
  await browser.close()
  await world.close()
}, WITHIN_MS)

async function picture(page: Page, name: string): Promise<void> {
  if (PICTURES === undefined) return
  mkdirSync(PICTURES, { recursive: true })
  await page.screenshot({ path: join(PICTURES, `${name}.png`), fullPage: true })
}

/** What a page has that keeps somebody out, as far as a program can tell. */
async function barriersIn(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe.source)
  const { violations } = await page.evaluate<{
    violations: { id: string; impact: string; nodes: { html: string }[] }[]
  }>("axe.run()")
  return violations.map(({ id, impact, nodes }) => `${impact} ${id}: ${nodes[0]?.html}`)
}

it("people agree by it without script", { timeout: WITHIN_MS }, async (ctx) => {
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
  // Nothing is ticked for anybody, and nothing has to be: the page says what is missing.
  expect(await page.getByRole("checkbox", { checked: true }).count()).toBe(0)
  await send.click()
  expect(await page.getByRole("alert").textContent()).toContain("Tick at least one box")
  expect([await phone.inputValue(), await name.inputValue()]).toEqual(["(415) 555-0171", "Ada"])
  await picture(page, "fault")
  await service.check()
  await send.click()
  expect(page.url()).toBe(`${live}/thanks`)
  expect(await page.getByRole("heading", { level: 1 }).textContent()).toBe("Thank you")
  await picture(page, "thanks")
  expect(await optInsOf(world, company)).toMatchObject([
    { phone: "+14155550171", firstName: "Ada", service: true, offers: false },
  ])
  await context.close()
})

it.for(WIDTHS)(
  "each page is whole and open to everybody at a width of %s",
  { timeout: WITHIN_MS },
  async (width, ctx) => {
    ctx.skip(noChromiumReason !== null, String(noChromiumReason))
    // What looks for barriers is a script, which the pages themselves do not let run.
    const context = await browser.newContext({
      viewport: { width, height: 844 },
      bypassCSP: true,
    })
    const page = await context.newPage()
    const places = ["texts", "terms", "privacy", "thanks"].map((name) => `${live}/${name}`)
    for (const place of [...places, `${preview}/texts`]) {
      await page.goto(place)
      const name = new URL(place).pathname.split("/").at(-1)
      await picture(page, `${place.startsWith(live) ? "live" : "preview"}-${name}-${width}`)
      const wide = await page.evaluate<number>("document.documentElement.scrollWidth")
      expect([place, wide]).toEqual([place, width])
      expect([place, await barriersIn(page)]).toEqual([place, []])
    }
    await context.close()
  },
)
