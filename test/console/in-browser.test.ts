/** What people do in the console, in a real browser against the real server. */
import type { Page } from "playwright-core"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { noBrowser } from "../publishing/browser.ts"
import type { Opened } from "./in-chromium.ts"
import {
  LOOKS,
  OWNER,
  addressesOf,
  faultsOf,
  openConsole,
  signedInPage,
  spendSomething,
  visit,
} from "./in-chromium.ts"

/** The first visit loads at most so much script, compressed, bytes; charts come after it. */
const MOST_SCRIPT = 250_000
/** There are many pages, and each is looked at four times. */
const ALL_WITHIN_MS = 900_000

let opened: Opened
beforeAll(async () => {
  if (noBrowser !== null) return
  opened = await openConsole()
  await spendSomething(opened)
})
afterAll(async () => {
  if (noBrowser === null) await opened.close()
})

/** Signs in as the page asks for it, by the code that was mailed. */
async function signIn(page: Page): Promise<void> {
  await page.goto(`${opened.server.url}/console`)
  await page.getByLabel("Email").fill(OWNER)
  await page.getByRole("button", { name: "Mail me a code" }).click()
  await page.getByRole("heading", { name: "Enter the code" }).waitFor()
  const codes = async () => {
    const { mails } = await opened.place.ledger("mail", "list")
    return (mails as readonly { readonly subject: string }[]).filter(({ subject }) =>
      /^\d{6} /.test(subject),
    )
  }
  await expect.poll(async () => (await codes()).length).toBe(1)
  const [mail] = await codes()
  await page.getByLabel("Digit of the code").first().click()
  await page.keyboard.type(mail?.subject.slice(0, 6) ?? "")
  await page.getByRole("button", { name: "Sign in" }).click()
  await page.getByRole("heading", { name: "Overview" }).waitFor()
}

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
  await page.getByRole("button", { name: "I have kept it" }).click()
  return key
}

/** Sends a text with a key; answers the status. */
async function sendText(key: string): Promise<number> {
  const { status } = await fetch(`${opened.server.url}/api/v1/phone/messages`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ to: "+14155550123", body: "Hello from acme" }),
  })
  return status
}

describe("the console", () => {
  it("signs in by a mailed code, makes a key, limits it, and shows what it refused", async (ctx) => {
    ctx.skip(noBrowser !== null, String(noBrowser))
    const page = await (await opened.browser.newContext()).newPage()
    await signIn(page)
    const key = await makeKey(page, "shop")
    expect(await sendText(key)).toBe(200)
    await page.getByRole("link", { name: "Limits" }).click()
    await page.getByRole("button", { name: "Set a limit" }).click()
    const form = page.getByRole("dialog")
    await form.getByRole("combobox", { name: "Whose" }).click()
    await page.getByRole("option", { name: "Key shop" }).click()
    await form.getByLabel("Dollars").fill("0.01")
    await form.getByRole("button", { name: "Save" }).click()
    await expect.poll(() => page.getByRole("cell", { name: "Key shop" }).count()).toBe(1)
    expect(await sendText(key)).toBe(429)
    await page.getByRole("link", { name: "Refusals" }).click()
    const refused = page.getByRole("group", { name: "A refused charge" }).first()
    await expect.poll(() => refused.innerText()).toMatch(/Key shop: all spending a month/)
    expect(await refused.innerText()).toMatch(/\$0\.00\d* would have fitted/)
  })

  it("loads little script before its first page", async (ctx) => {
    ctx.skip(noBrowser !== null, String(noBrowser))
    const page = await signedInPage(opened)
    await page.reload({ waitUntil: "networkidle" })
    const loaded = await page.evaluate<readonly { name: string; bytes: number }[]>(
      `performance.getEntriesByType("resource").filter(({ name }) => name.endsWith(".js"))
        .map(({ name, encodedBodySize }) => ({ name, bytes: encodedBodySize }))`,
    )
    const first = loaded.filter(({ name }) => !name.includes("chart"))
    expect(first.length).toBeGreaterThan(2)
    expect(first.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThan(MOST_SCRIPT)
  })

  it(
    "has no page that is too wide, complains, or shuts anybody out",
    { timeout: ALL_WITHIN_MS },
    async (ctx) => {
      ctx.skip(noBrowser !== null, String(noBrowser))
      const page = await signedInPage(opened)
      const said: string[] = []
      page.on("console", (message) => {
        if (message.type() === "error") said.push(`${page.url()}: ${message.text()}`)
      })
      page.on("pageerror", (error) => said.push(`${page.url()}: ${error.message}`))
      const addresses = await addressesOf(page)
      for (const address of addresses) {
        await visit(page, address)
        for (const { width, scheme } of LOOKS) {
          await page.setViewportSize({ width, height: 900 })
          await page.emulateMedia({ colorScheme: scheme })
          said.push(...(await faultsOf(page)).map((one) => `${address} ${width} ${scheme}: ${one}`))
        }
      }
      expect(addresses.length).toBeGreaterThanOrEqual(30)
      expect(said).toEqual([])
    },
  )
})
