/** The console without a mouse: everything is reachable by keyboard, and the focus is always visible. */
import type { Page } from "playwright-core"
import { describe, expect, it } from "vitest"
import {
  openConsole,
  openSignedInPage,
  createSpending,
  codeMailedAfter,
} from "./chromium-console.ts"
import { newPage, openAndSettle } from "./page-checks.ts"

/** Maximum number of Tab presses to reach a control. */
const MAX_TABS = 60

const opened = await openConsole(createSpending)
const { company } = opened

const pathOf = (page: Page) => new URL(page.url()).pathname.split("/").slice(3).join("/")

/** The focused element's name, and whether its focus is visible. */
const focused = (page: Page) =>
  page.evaluate<{ readonly name: string; readonly isVisible: boolean }>(`(() => {
    const at = document.activeElement
   // After the last control, Tab focuses the page itself.
    if (at === document.body) return { name: "", isVisible: true }
    const style = getComputedStyle(at)
    const isRinged = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0
    const isField = /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName)
    const name = at.getAttribute("aria-label") ?? at.innerText ?? at.value ?? ""
    return { name: name.trim(), isVisible: isRinged || isField }
  })()`)

/** Presses Tab until the named element has the focus; every focus on the way must be visible. */
async function tabTo(page: Page, name: RegExp): Promise<void> {
  for (let tabs = 0; tabs < MAX_TABS; tabs += 1) {
    await page.keyboard.press("Tab")
    const at = await focused(page)
    if (at.name !== "") expect(at).toEqual({ name: at.name, isVisible: true })
    if (name.test(at.name)) return
  }
  throw new Error(`Tab does not reach ${String(name)} on ${page.url()}`)
}

/** Opens the palette, types, and opens the first result. */
async function goTo(page: Page, words: string): Promise<void> {
  await page.keyboard.press("Control+k")
  const field = page.getByRole("textbox", { name: "Go to" })
  await field.waitFor()
  // The palette focuses its field when it opens.
  await expect.poll(async () => (await focused(page)).name).toBe("Go to")
  await page.keyboard.type(words)
  await page.getByRole("dialog").getByText(words).first().waitFor()
  await page.keyboard.press("ArrowDown")
  await page.keyboard.press("Enter")
  await field.waitFor({ state: "hidden" })
}

describe("without a mouse", () => {
  it("a person signs in", async () => {
    const page = await newPage(opened.browser)
    await page.goto(`${opened.url}/console`)
    await page.getByLabel("Email").waitFor()
    // The page focuses its only field.
    await expect.poll(() => page.evaluate("document.activeElement.tagName")).toBe("INPUT")
    const code = await codeMailedAfter(opened, opened.email, async () => {
      await page.keyboard.type(opened.email)
      await page.keyboard.press("Enter")
      await page.getByRole("heading", { name: "Enter the code" }).waitFor()
    })
    // The page focuses the first digit.
    await page.keyboard.type(code)
    await page.keyboard.press("Enter")
    await page.getByRole("heading", { name: "Overview" }).waitFor()
    await tabTo(page, /^Spending$/)
    await page.keyboard.press("Enter")
    await page.getByRole("heading", { name: "Spending" }).waitFor()
  })

  it("the palette opens a page, a key, a person and a charge", async () => {
    const page = await openSignedInPage(opened)
    const { keys } = await opened.world.operate("key list", { company })
    const { charges } = await opened.world.operate("charge list", { company })
    const { people } = await opened.world.operate("person list", { company })
    await goTo(page, "Limits")
    await expect.poll(() => pathOf(page)).toBe("limits")
    await goTo(page, "demo")
    await expect.poll(() => pathOf(page)).toBe(`keys/${keys[0].keyId}`)
    await goTo(page, "Ada Example")
    await expect.poll(() => pathOf(page)).toBe(`team/${people[0].personId}`)
    await goTo(page, charges[0].chargeId)
    await expect.poll(() => pathOf(page)).toBe(`spending/${charges[0].chargeId}`)
  })

  it("the arrow keys move between rows, and Enter opens one", async () => {
    const page = await openSignedInPage(opened)
    await openAndSettle(page, `/console/${opened.companyId}/spending`)
    const rows = page.locator("[data-row]")
    await rows.first().waitFor()
    const hrefs = await rows.evaluateAll((all) => all.map((row) => row.getAttribute("href")))
    expect(hrefs.length).toBeGreaterThan(2)
    await rows.first().focus()
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("ArrowUp")
    const at = await page.evaluate("document.activeElement.getAttribute('href')")
    expect(at).toBe(hrefs[1])
    await page.keyboard.press("Enter")
    await expect.poll(() => new URL(page.url()).pathname).toBe(hrefs[1])
  })

  it("Escape closes a dialog and restores the focus, and a person creates a key", async () => {
    const page = await openSignedInPage(opened)
    await goTo(page, "Keys")
    await page.getByRole("heading", { name: "Keys" }).waitFor()
    await tabTo(page, /^Create key$/)
    await page.keyboard.press("Enter")
    const form = page.getByRole("dialog")
    await form.waitFor()
    await page.keyboard.press("Escape")
    await form.waitFor({ state: "hidden" })
    await expect.poll(async () => (await focused(page)).name).toBe("Create key")
    await page.keyboard.press("Enter")
    await form.getByLabel("Name", { exact: true }).focus()
    await page.keyboard.type("by keys")
    await form.getByRole("button", { name: /^Phone/ }).focus()
    await page.keyboard.press("Enter")
    await form.getByLabel("All of Phone").focus()
    await page.keyboard.press("Space")
    await tabTo(page, /^Create key$/)
    await page.keyboard.press("Enter")
    await page.locator("[data-secret]").waitFor()
    expect(await page.locator("[data-secret]").innerText()).toMatch(/^cpk_/)
    await tabTo(page, /^I saved it$/)
    await page.keyboard.press("Enter")
    await expect.poll(() => page.getByRole("link", { name: "by keys" }).count()).toBe(1)
  })
})
