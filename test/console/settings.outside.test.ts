/** The console's settings page, in a real browser. */
import { readFile } from "node:fs/promises"
import type { Page } from "playwright-core"
import { describe, expect, it } from "vitest"
import { openDialog, openConsole, addConsolePerson, openSignedInPage } from "./chromium-console.ts"
import { newPage } from "./page-checks.ts"

const INSTALL = "ab".repeat(28)

/** Violations of the page's content security policy. */
const blocked: string[] = []
const opened = await openConsole()
const { ownerPage, company, email } = opened

/** Opens a tab of the settings, which the address then names. */
async function openTab(page: Page, title: string, name: string): Promise<void> {
  await page.getByRole("link", { name: "Settings", exact: true }).click()
  await page.getByRole("heading", { level: 1, name: "Settings" }).waitFor()
  await page.getByRole("link", { name: title, exact: true }).click()
  await page.waitForURL(new RegExp(`tab=${name}`))
}

const asApp = async (path: string, body: object, key: string | null = null) =>
  (await opened.world.call(key, "POST", path, { body })).body

describe("the settings", () => {
  it("approve an app by its code, and list it after it checks in", async () => {
    ownerPage.on("console", (message) => {
      if (message.text().includes("Content Security Policy")) blocked.push(message.text())
    })
    await openTab(ownerPage, "Apps", "apps")
    await ownerPage.getByText("No app has checked in yet").waitFor()
    const release = { version: "2.1.0", notes: "Faster lists", channel: "stable" }
    await opened.world.operate("release publish", release)
    const { code = "" } = await asApp("/api/v1/connect/start", {
      version: "2.0.0",
      installId: INSTALL,
    })
    await openTab(ownerPage, "Approve an app", "approve")
    const form = await openDialog(ownerPage, "Enter the code")
    await form.getByRole("textbox", { name: "Code" }).fill("ABCD-EFGH-JKMN-PQRS")
    await form.getByRole("button", { name: "Approve" }).click()
    await form.getByRole("alert").waitFor()
    expect(await form.getByRole("alert").innerText()).toContain(
      "The code is unknown or has expired",
    )
    await form.getByRole("textbox", { name: "Code" }).fill(code.toLowerCase())
    await form.getByRole("button", { name: "Approve" }).click()
    await ownerPage.getByText("App 2.0.0 is connected").waitFor()
    const { key = null } = await asApp("/api/v1/connect/start", { code })
    await asApp("/api/v1/checkin", { installId: INSTALL, version: "2.0.0" }, key)
    await openTab(ownerPage, "Apps", "apps")
    await ownerPage.reload()
    await ownerPage.getByRole("region", { name: "Installed apps" }).locator("[data-row]").click()
    await ownerPage.getByRole("heading", { level: 1, name: "App 2.0.0" }).waitFor()
    const newer = ownerPage.getByRole("region", { name: "Newer releases", exact: true }).last()
    await expect.poll(() => newer.innerText()).toMatch(/2\.1\.0\s+Faster lists/)
  })

  it("approve an app by its address, after signing in", async () => {
    const { code = "", url = "" } = await asApp("/api/v1/connect/start", { version: "2.0.1" })
    const page = await newPage(opened.browser)
    await page.goto(`${opened.url}${new URL(url).pathname}`)
    await page.getByRole("heading", { level: 1, name: "Sign in" }).waitFor()
    const signIn = await opened.world.operate("console link", { person: opened.ownerId })
    const elsewhere = await page.context().newPage()
    await elsewhere.goto(`${opened.url}${new URL(signIn.url).pathname}`)
    await page.reload()
    const form = await openDialog(page, "Enter the code")
    expect(await form.getByRole("textbox", { name: "Code" }).inputValue()).toBe(code)
    await form.getByRole("button", { name: "Approve" }).click()
    await page.getByText("App 2.0.1 is connected").waitFor()
  })

  it("change the channel, and keep the typed value if it is invalid", async () => {
    await openTab(ownerPage, "You", "you")
    await ownerPage.getByRole("link", { name: "Company", exact: true }).click()
    const form = await openDialog(ownerPage, "Change the channel")
    await form.getByRole("textbox", { name: "Channel" }).fill("Beta one")
    await form.getByRole("button", { name: "Change" }).click()
    await expect
      .poll(() => form.innerText())
      .toContain("1 to 30 lowercase letters, digits and dashes")
    expect(await form.getByRole("textbox", { name: "Channel" }).inputValue()).toBe("Beta one")
    await form.getByRole("textbox", { name: "Channel" }).fill("beta")
    await form.getByRole("button", { name: "Change" }).click()
    const region = ownerPage.getByRole("region", { name: "Release channel" })
    await expect.poll(() => region.innerText()).toMatch(/Channel\s+beta/)
    await expect.poll(() => region.innerText()).toContain("No releases yet")
  })

  it("join the affiliate program", async () => {
    await openTab(ownerPage, "Affiliate", "affiliate")
    await ownerPage.getByText("The company is not an affiliate").waitFor()
    const join = await openDialog(ownerPage, "Join")
    await join.getByRole("button", { name: "Join" }).click()
    const link = ownerPage.getByRole("region", { name: "The company's link" })
    await expect.poll(() => link.innerText()).toMatch(/\/join\/\w{10}/)
    await expect.poll(() => ownerPage.getByText("No referrals yet").count()).toBe(1)
  })

  it("let a user change their own name and sign out, and nothing else", async () => {
    const page = await openSignedInPage(opened, await addConsolePerson(opened, "Uma", "user"))
    await openTab(page, "You", "you")
    const tabs = page.getByRole("navigation", { name: "Settings" }).getByRole("link")
    expect(await tabs.allInnerTexts()).toEqual(["Company", "You"])
    await page.getByText("No permissions yet").waitFor()
    const form = await openDialog(page, "Change your name")
    await form.getByRole("textbox", { name: "Name" }).fill("Uma the <b>Great</b>")
    await form.getByRole("button", { name: "Save" }).click()
    await page.getByRole("heading", { name: "Uma the <b>Great</b>" }).waitFor()
    await page.getByRole("link", { name: "Company", exact: true }).click()
    await page.getByRole("region", { name: "Release channel" }).waitFor()
    expect(await page.getByRole("button", { name: "Change the channel" }).count()).toBe(0)
    await openTab(page, "You", "you")
    await page.getByRole("button", { name: "Sign out" }).click()
    await page.getByRole("button", { name: "Email me a code" }).waitFor()
    await page.reload()
    await page.getByRole("button", { name: "Email me a code" }).waitFor()
  })

  it("export the company's data, delete the company and restore it", async () => {
    await openTab(ownerPage, "Export and delete", "data")
    const [file] = await Promise.all([
      ownerPage.waitForEvent("download"),
      ownerPage.getByRole("button", { name: "Download everything" }).click(),
    ])
    expect(file.suggestedFilename()).toBe(`${company}-data.ndjson`)
    expect(await readFile(await file.path(), "utf8")).toContain(email)
    const dialog = await openDialog(ownerPage, "Delete the company")
    const confirm = dialog.getByRole("button", { name: "Delete the company" })
    await dialog.getByLabel(`type ${company}`).fill("acm")
    expect(await confirm.isDisabled()).toBe(true)
    await dialog.getByLabel(`type ${company}`).fill(company)
    await confirm.click()
    await ownerPage.getByRole("heading", { name: `${company} was deleted` }).waitFor()
    await ownerPage.getByRole("button", { name: "Sign out" }).waitFor()
    const deleted = await opened.world.operate("company show", { company })
    expect(deleted.deleted.deleteDataAfter).toMatch(/^\d{4}-/)
    await ownerPage.getByRole("button", { name: "Restore the company" }).click()
    await ownerPage.getByRole("heading", { level: 1, name: "Settings" }).waitFor()
    const restored = await opened.world.operate("company show", { company })
    expect(restored.deleted).toBeNull()
    expect(blocked).toEqual([])
  })
})
