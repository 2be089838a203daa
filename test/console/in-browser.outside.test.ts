/** What people do in the console, in a real browser against the real server. */
import type { Page } from "playwright-core"
import { describe, expect, it } from "vitest"
import { isDeepRun } from "../charging/property-runs.ts"
import { signInByCode, openConsole, openSignedInPage, createSpending } from "./chromium-console.ts"
import type { ViewMode } from "./page-checks.ts"
import {
  VIEW_MODES,
  COLOR_RULES,
  pageAddressesOf,
  pageFaultsOf,
  setViewMode,
  untilPageSettles,
  pageWidthFaultsOf,
} from "./page-checks.ts"

/** The first visit loads at most so much script, compressed, bytes; charts come after it. */
const MAX_SCRIPT = 250_000
/** There are many pages, and each is looked at several times. */
const ALL_WITHIN_MS = 900_000

const opened = await openConsole(createSpending)

/** Makes a key of the owner's that may use the phone, and answers it. */
async function makeKey(page: Page, name: string): Promise<string> {
  await page.getByRole("link", { name: "Keys" }).click()
  await page.getByRole("button", { name: "Create key" }).click()
  const form = page.getByRole("dialog")
  await form.getByLabel("Name", { exact: true }).fill(name)
  await form.getByRole("button", { name: /^Phone/ }).click()
  await form.getByLabel("All of Phone").check()
  await form.getByRole("button", { name: "Create key" }).click()
  const key = await page.locator("[data-secret]").innerText()
  await page.getByRole("button", { name: "I saved it" }).click()
  return key
}

/** Sends a text with a key; answers the status. */
async function sendText(key: string): Promise<number> {
  const body = { to: "+14155550123", body: "Hello from acme" }
  return (await opened.world.call(key, "POST", "/api/v1/phone/messages", { body })).status
}

/** Dark and narrow at the same time shows nothing that neither shows alone. */
const LOOKED_AT = isDeepRun ? VIEW_MODES : VIEW_MODES.slice(0, 3)

/**
 * What is wrong with a page in a look. One look is asked about everything, and the others about what they
 * change: colours, and how much room there is. `LEDGER_DEEP=1` asks each about everything.
 */
function faultsIn(page: Page, look: ViewMode): Promise<readonly string[]> {
  const [first] = VIEW_MODES
  if (isDeepRun || look === first) return pageFaultsOf(page)
  return look.width === first.width ? pageFaultsOf(page, COLOR_RULES) : pageWidthFaultsOf(page)
}

/** How much is sent to somebody who never saw a file, bytes. */
async function bytesSent(address: string): Promise<number> {
  const answer = await fetch(address, { headers: { "accept-encoding": "br" } })
  expect(answer.headers.get("content-encoding")).toBe("br")
  await answer.arrayBuffer()
  return Number(answer.headers.get("content-length"))
}

describe("the console", () => {
  it("signs in by a mailed code, makes a key, limits it, and shows what it refused", async () => {
    const page = await signInByCode(opened, opened.email)
    const key = await makeKey(page, "shop")
    expect(await sendText(key)).toBe(200)
    await page.getByRole("link", { name: "Limits" }).click()
    await page.getByRole("button", { name: "Set a limit" }).click()
    const form = page.getByRole("dialog")
    await form.getByRole("combobox", { name: "Holder" }).click()
    await page.getByRole("option", { name: "Key shop" }).click()
    await form.getByLabel("Dollars").fill("0.01")
    await form.getByRole("button", { name: "Save" }).click()
    await expect.poll(() => page.getByRole("cell", { name: "Key shop" }).count()).toBe(1)
    expect(await sendText(key)).toBe(429)
    await page.getByRole("link", { name: "Refusals" }).click()
    const refused = page.getByRole("group", { name: "Refused charge" }).first()
    await expect.poll(() => refused.innerText()).toMatch(/Key shop: all spending a month/)
    expect(await refused.innerText()).toMatch(/\$0\.00\d* would have fit/)
  })

  it("loads little script before its first page", async () => {
    const page = await openSignedInPage(opened)
    await page.reload()
    await untilPageSettles(page)
    const loaded = await page.evaluate<readonly string[]>(
      `performance.getEntriesByType("resource").map(({ name }) => name).filter((name) => name.endsWith(".js"))`,
    )
    // What is loaded ahead and then used is told of twice, where the first is not there in time.
    const first = [...new Set(loaded)].filter((address) => !address.includes("chart"))
    expect(first.length).toBeGreaterThan(2)
    const sizes = await Promise.all(first.map(bytesSent))
    expect(sizes.reduce((sum, bytes) => sum + bytes, 0)).toBeLessThan(MAX_SCRIPT)
  })

  it(
    "has no page that is too wide, complains, or shuts anybody out",
    { timeout: ALL_WITHIN_MS },
    async () => {
      const page = await openSignedInPage(opened)
      const said: string[] = []
      page.on("console", (message) => {
        if (message.type() === "error") said.push(`${page.url()}: ${message.text()}`)
      })
      page.on("pageerror", (error) => said.push(`${page.url()}: ${error.message}`))
      const addresses = await pageAddressesOf(page, async (address) => {
        for (const look of LOOKED_AT) {
          await setViewMode(page, look)
          const faults = await faultsIn(page, look)
          said.push(...faults.map((one) => `${address} ${look.width} ${look.scheme}: ${one}`))
        }
      })
      expect(addresses.length).toBeGreaterThanOrEqual(30)
      expect(said).toEqual([])
    },
  )
})
