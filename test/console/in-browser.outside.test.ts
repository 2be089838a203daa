/** The console in a real browser against the real server: its main flow, its size and its accessibility. */
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

/** Maximum compressed script of the first visit, in bytes; charts load later. */
const MAX_SCRIPT = 250_000
/** There are many pages, and each is checked in several view modes. */
const ALL_WITHIN_MS = 900_000

const opened = await openConsole(createSpending)

/** Creates a key of the owner that may use the phone; returns it. */
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

async function sendText(key: string): Promise<number> {
  const body = { to: "+14155550123", body: "Hello from acme" }
  return (await opened.world.call(key, "POST", "/api/v1/phone/messages", { body })).status
}

/** Dark and narrow together find no fault that neither finds alone. */
const CHECKED_VIEW_MODES = isDeepRun ? VIEW_MODES : VIEW_MODES.slice(0, 3)

/**
 * Faults of a page in a view mode. The first mode runs every check, the others only those that their color or width
 * affects. `LEDGER_DEEP=1` runs every check in each mode.
 */
function faultsIn(page: Page, viewMode: ViewMode): Promise<readonly string[]> {
  const [first] = VIEW_MODES
  if (isDeepRun || viewMode === first) return pageFaultsOf(page)
  return viewMode.width === first.width ? pageFaultsOf(page, COLOR_RULES) : pageWidthFaultsOf(page)
}

/** Compressed size of a file, in bytes. */
async function compressedSizeOf(address: string): Promise<number> {
  const answer = await fetch(address, { headers: { "accept-encoding": "br" } })
  expect(answer.headers.get("content-encoding")).toBe("br")
  await answer.arrayBuffer()
  return Number(answer.headers.get("content-length"))
}

describe("the console", () => {
  it("signs in by a mailed code, creates a key, limits it, and shows its refusal", async () => {
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
    // A preloaded script is listed twice if its preload has not finished when it is used.
    const first = [...new Set(loaded)].filter((address) => !address.includes("chart"))
    expect(first.length).toBeGreaterThan(2)
    const sizes = await Promise.all(first.map(compressedSizeOf))
    expect(sizes.reduce((sum, bytes) => sum + bytes, 0)).toBeLessThan(MAX_SCRIPT)
  })

  it(
    "has no page that overflows, logs an error or has accessibility faults",
    { timeout: ALL_WITHIN_MS },
    async () => {
      const page = await openSignedInPage(opened)
      const faults: string[] = []
      page.on("console", (message) => {
        if (message.type() === "error") faults.push(`${page.url()}: ${message.text()}`)
      })
      page.on("pageerror", (error) => faults.push(`${page.url()}: ${error.message}`))
      const addresses = await pageAddressesOf(page, async (address) => {
        for (const viewMode of CHECKED_VIEW_MODES) {
          await setViewMode(page, viewMode)
          const found = await faultsIn(page, viewMode)
          faults.push(
            ...found.map((one) => `${address} ${viewMode.width} ${viewMode.scheme}: ${one}`),
          )
        }
      })
      expect(addresses.length).toBeGreaterThanOrEqual(30)
      expect(faults).toEqual([])
    },
  )
})
