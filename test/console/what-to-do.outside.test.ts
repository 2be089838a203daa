/** How the console helps: undo after an action, and the next step after an error or a refusal. */
import type { Locator } from "playwright-core"
import { describe, expect, it } from "vitest"
import {
  signInByCode,
  addConsolePerson,
  openConsole,
  openSignedInPage,
} from "./chromium-console.ts"
import { VIEW_MODES, setViewMode, newPage, openAndSettle } from "./page-checks.ts"
import { makeKey, setLimit } from "../support/company.ts"

const opened = await openConsole((fixture) =>
  setLimit(fixture.world, fixture, { dollars: "12.5", reminders: ["10"] }),
)
const { ownerPage, company, companyId } = opened
const home = `/console/${companyId}`

const operate = (operation: string) => opened.world.operate(operation, { company })

async function undo(within: Locator, action: string, done: string, undone: string): Promise<void> {
  await within.getByRole("button", { name: action, exact: true }).click()
  await ownerPage.getByRole("dialog").getByRole("button", { name: action, exact: true }).click()
  await ownerPage.getByText(done).waitFor()
  await ownerPage.getByRole("button", { name: "Undo" }).click()
  await ownerPage.getByText(undone).waitFor()
  await ownerPage.getByRole("button", { name: "Undo" }).waitFor({ state: "detached" })
}

describe("an action", () => {
  it("can be undone: a paused key works again", async () => {
    await ownerPage.getByRole("link", { name: "Keys", exact: true }).click()
    await ownerPage.getByRole("link", { name: "demo", exact: true }).click()
    await undo(ownerPage.getByRole("main"), "Pause", "The key is paused.", "The key works again.")
    await ownerPage.getByRole("button", { name: "Pause", exact: true }).waitFor()
    expect((await operate("key list")).keys).toMatchObject([{ label: "demo", status: "active" }])
  })

  it("can be undone: a removed limit applies again unchanged", async () => {
    const before = (await operate("limit list")).limits
    await ownerPage.getByRole("link", { name: "Limits", exact: true }).click()
    const row = ownerPage.getByRole("row").filter({ hasText: "$12.50" })
    await undo(row, "Remove", "The limit was removed.", "The limit applies again.")
    expect((await operate("limit list")).limits).toEqual(before)
  })
})

describe("signing in", () => {
  it("explains what to do about a wrong code", async () => {
    const page = await newPage(opened.browser)
    await page.goto(`${opened.url}/console`)
    await page.getByText("company-ledger console").waitFor()
    await page.getByLabel("Email").fill(opened.email)
    await page.getByRole("button", { name: "Email me a code" }).click()
    await page.getByLabel("Digit of the code").first().click()
    await page.keyboard.type("000000")
    await page.getByRole("button", { name: "Sign in" }).click()
    const fault = page.getByRole("alert")
    await fault.waitFor()
    expect(await fault.innerText()).toContain("Enter the code of the newest mail")
    expect(await fault.innerText()).not.toContain("owner or admin")
  })

  it("stores the name that an invited person enters", async () => {
    const email = "ines@example.com"
    await opened.world.operate("person invite", { company, email, role: "user" })
    await signInByCode(opened, email, "Ines Example")
    const { people } = await opened.world.operate("person list", { company })
    expect(people).toContainEqual(expect.objectContaining({ email, name: "Ines Example" }))
  })
})

describe("adding funds", () => {
  it("has an address, and first asks for a card if none is on file", async () => {
    await opened.world.operate("card remove", { company })
    await openAndSettle(ownerPage, `${home}/billing?add=funds`)
    const dialog = ownerPage.getByRole("dialog", { name: "Add funds" })
    await dialog.getByText("The company has no card on file").waitFor()
    expect(await dialog.getByLabel("Dollars").count()).toBe(0)
    await dialog.getByRole("button", { name: "Add a card" }).click()
    await ownerPage.getByRole("button", { name: "Save the card" }).click()
    await dialog.getByLabel("Dollars").fill("10")
    await dialog.getByRole("button", { name: "Add funds" }).click()
    await ownerPage.getByText("$10.00 were added.").waitFor()
    await dialog.waitFor({ state: "detached" })
    await expect.poll(() => new URL(ownerPage.url()).search).toBe("")
  })
})

describe("a check of a quantity", () => {
  it("shows how many would fit, and links to the limit that refuses it", async () => {
    const { world } = opened
    const { keyId } = await makeKey(world, opened, { label: "shop" })
    await setLimit(world, opened, { key: keyId, dollars: "0.02" })
    await openAndSettle(ownerPage, `${home}/refusals`)
    await ownerPage.getByRole("combobox", { name: "Spender" }).click()
    await ownerPage.getByRole("option", { name: "Key shop" }).click()
    await ownerPage.getByLabel("Quantity").fill("5")
    await ownerPage.getByRole("button", { name: "Check" }).click()
    const card = ownerPage.getByRole("group", { name: "Refused charge" })
    await card.waitFor()
    const cardText = await card.innerText()
    expect(cardText).toContain("5 × Text message segment")
    expect(cardText).toMatch(/\$0\.02 would fit, enough for 2 at \$0\.009 each\./)
    const link = card.getByRole("link", { name: "Change the limit" })
    expect(await link.getAttribute("href")).toBe(`${home}/limits?holder=${keyId}`)
  })
})

describe("pages without permission", () => {
  it("name the missing permission, and offer no actions", async () => {
    const page = await openSignedInPage(opened, await addConsolePerson(opened, "Nora", "user"))
    const pages = [
      ["code", "You have no access to the code"],
      ["email", "You have no access to mails"],
      ["domains", "You have no access to domains"],
      ["leads", "You have no access to leads"],
      ["boxes", "You have no boxes"],
    ] as const
    for (const [path, title] of pages) {
      await openAndSettle(page, `${home}/${path}`)
      await page.getByText(title, { exact: true }).waitFor()
      expect(await page.getByRole("alert").count()).toBe(0)
      expect(await page.getByRole("button", { name: "Connect a domain" }).count()).toBe(0)
    }
  })
})

describe("the chosen tab", () => {
  it("is visible on a narrow screen", async () => {
    await setViewMode(ownerPage, VIEW_MODES[2])
    await openAndSettle(ownerPage, `${home}/settings?tab=you`)
    const tab = ownerPage.getByRole("navigation", { name: "Settings" }).locator("[aria-current]")
    const box = await tab.boundingBox()
    expect((box?.x ?? 0) + (box?.width ?? Infinity)).toBeLessThanOrEqual(VIEW_MODES[2].width)
    await setViewMode(ownerPage, VIEW_MODES[0])
  })
})
