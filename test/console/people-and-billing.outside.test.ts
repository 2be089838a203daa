/** The console's team and billing pages, in a real browser. */
import { readFile } from "node:fs/promises"
import type { Page } from "playwright-core"
import { describe, expect, it } from "vitest"
import {
  signInByCode,
  addConsolePerson,
  openDialog,
  openConsole,
  openSignedInPage,
  createSpending,
} from "./chromium-console.ts"

const opened = await openConsole()
const { ownerPage, company, email } = opened

/** Goes to a page by the navigation. */
async function goTo(page: Page, name: string): Promise<void> {
  await page.getByRole("link", { name, exact: true }).click()
  await page.getByRole("heading", { level: 1, name }).waitFor()
}

async function openPerson(page: Page, name: string): Promise<void> {
  await page.getByRole("link", { name, exact: true }).click()
  // The list of people has buttons with the same names as the person's page, so wait until it is gone.
  await page.getByRole("heading", { level: 1, name, exact: true }).waitFor()
}

/** Returns a function that reads a region's text. */
const textOf = (page: Page, region: string) => () =>
  page.getByRole("region", { name: region, exact: true }).innerText()

describe("the team", () => {
  it("invites an admin, whose role the owner then lowers", async () => {
    await goTo(ownerPage, "Team")
    await ownerPage.getByText("No invitations").waitFor()
    const form = await openDialog(ownerPage, "Invite")
    await form.getByLabel("Email", { exact: true }).fill("alan")
    await expect
      .poll(() => form.innerText())
      .toContain("Must be an email address, such as ada@example.com")
    await form.getByLabel("Email", { exact: true }).fill("alan@example.com")
    await form.getByLabel("Admin").check()
    await form.getByRole("button", { name: "Invite" }).click()
    await expect.poll(textOf(ownerPage, "Invitations")).toMatch(/alan@example\.com\s+Admin/)
    const alan = await signInByCode(opened, "alan@example.com")
    // A new person's name is shown once the read model has it.
    await alan.reload()
    await goTo(alan, "Settings")
    await alan.getByRole("link", { name: "You", exact: true }).click()
    await expect.poll(textOf(alan, "alan")).toMatch(/Role\s+Admin/)
    await ownerPage.reload()
    await openPerson(ownerPage, "alan")
    const change = await openDialog(ownerPage, "Change")
    await change.getByLabel("Developer").check()
    await change.getByRole("button", { name: "Save" }).click()
    await expect.poll(() => ownerPage.getByRole("main").innerText()).toMatch(/Role\s+Developer/)
    await alan.reload()
    await alan.getByRole("button", { name: "Email me a code" }).waitFor()
    expect(await alan.getByRole("link", { name: "Keys" }).count()).toBe(0)
  })

  it("shows who is online, and keeps the typed email if an invitation is rejected", async () => {
    await goTo(ownerPage, "Team")
    await expect.poll(textOf(ownerPage, "People")).toMatch(/Online\s+in the dashboard/)
    const form = await openDialog(ownerPage, "Invite")
    await form.getByLabel("Email", { exact: true }).fill(email)
    await form.getByRole("button", { name: "Invite" }).click()
    const fault = form.getByRole("alert")
    await fault.waitFor()
    expect(await fault.innerText()).toContain("already has this email")
    expect(await form.getByLabel("Email", { exact: true }).inputValue()).toBe(email)
  })

  it("grants and revokes permissions, and removes a person whose name is typed", async () => {
    await addConsolePerson(opened, "Uma", "user")
    await ownerPage.goto(ownerPage.url())
    await goTo(ownerPage, "Team")
    await openPerson(ownerPage, "Uma")
    await expect.poll(textOf(ownerPage, "Permissions")).toMatch(/Use phone\s.*\sNo\n/)
    const form = await openDialog(ownerPage, "Permissions")
    await form.getByLabel("Use phone").check()
    await form.getByRole("button", { name: "Save" }).click()
    await expect.poll(textOf(ownerPage, "Permissions")).toMatch(/Use phone\s.*\sGiven\n/)
    const again = await openDialog(ownerPage, "Permissions")
    await again.getByLabel("Use phone").uncheck()
    await again.getByRole("button", { name: "Save" }).click()
    await expect.poll(textOf(ownerPage, "Permissions")).toMatch(/Use phone\s.*\sNo\n/)
    const remove = await openDialog(ownerPage, "Remove")
    expect(await remove.getByRole("button", { name: "Remove" }).isDisabled()).toBe(true)
    await remove.getByLabel(/Type Uma/).fill("Uma")
    await remove.getByRole("button", { name: "Remove" }).click()
    await ownerPage.getByRole("heading", { level: 1, name: "Team" }).waitFor()
    await expect.poll(textOf(ownerPage, "People")).not.toContain("Uma")
  })

  it("lets a manager grant their own permissions, and explains why not the others", async () => {
    const personId = await addConsolePerson(opened, "Ulf", "user")
    const mary = await openSignedInPage(opened, await addConsolePerson(opened, "Mary", "manager"))
    await goTo(mary, "Team")
    const form = await openDialog(mary, "Invite")
    expect(await form.getByLabel("Owner").isDisabled()).toBe(true)
    expect(await form.innerText()).toContain(
      "Only an owner can change owners or make someone an owner",
    )
    expect(await form.getByLabel("Manager").isDisabled()).toBe(false)
    await mary.keyboard.press("Escape")
    await form.waitFor({ state: "hidden" })
    await openPerson(mary, "Ulf")
    const permissions = await openDialog(mary, "Permissions")
    expect(await permissions.getByLabel("Push and upload code").isDisabled()).toBe(true)
    expect(await permissions.innerText()).toContain("You can only give permissions that you have")
    await permissions.getByLabel("Send email").check()
    await permissions.getByRole("button", { name: "Save" }).click()
    await expect.poll(textOf(mary, "Permissions")).toMatch(/Send email\s.*\sGiven\n/)
    const { people } = await opened.world.operate("person list", { company })
    expect(people).toContainEqual(
      expect.objectContaining({ personId, permissions: ["Send email"], rolePermissions: [] }),
    )
  })

  it("offers a manager's new key only the manager's own permissions", async () => {
    const meg = await openSignedInPage(opened, await addConsolePerson(opened, "Meg", "manager"))
    await goTo(meg, "Keys")
    const form = await openDialog(meg, "Create key")
    await form.getByLabel("Name").fill("of Meg")
    await form.getByRole("button", { name: /^Code and previews/ }).click()
    await form.getByLabel(/^code\.publish\.read/).waitFor()
    expect(await form.getByLabel(/^code\.push/).count()).toBe(0)
    await form.getByLabel("Everything").check()
    await form.getByRole("button", { name: "Create key" }).click()
    await meg.getByRole("dialog").getByText("The new key").waitFor()
    const { keys } = await opened.world.operate("key list", { company })
    const made = keys.find(({ label }: { readonly label: string }) => label === "of Meg")
    expect(made.operations).toContain("phone.messages.send")
    expect(made.operations).not.toContain("code.push")
  })
})

describe("billing", () => {
  it("shows a month, and offers it in six formats", async () => {
    await createSpending(opened)
    await ownerPage.goto(ownerPage.url())
    await goTo(ownerPage, "Billing")
    const months = ownerPage.getByRole("region", { name: "Months", exact: true }).last()
    await months.locator("[data-row]").first().click()
    await ownerPage.getByRole("table", { name: "Statement" }).waitFor()
    await expect.poll(textOf(ownerPage, "Statement")).toMatch(/3 charges\s+−\$10\.05/)
    await expect
      .poll(textOf(ownerPage, "Lines of the bill"))
      .toMatch(/chat completion\s[\s\S]*−\$3\.20/i)
    await ownerPage.getByRole("button", { name: "Download" }).click()
    await expect.poll(() => ownerPage.getByRole("menuitem").count()).toBe(6)
    const [file] = await Promise.all([
      ownerPage.waitForEvent("download"),
      ownerPage.getByRole("menuitem", { name: /^CSV/ }).click(),
    ])
    expect(file.suggestedFilename()).toMatch(/^acme-\d+-\d{4}-\d\d\.csv$/)
    const text = await readFile(await file.path(), "utf8")
    expect(text).toContain('"chat completion"')
    expect(text).toContain("-3200000")
  })

  it("changes the plan, removes the card, adds another card and verifies it", async () => {
    await goTo(ownerPage, "Billing")
    const plan = await openDialog(ownerPage, "Change the plan")
    await plan.getByRole("combobox", { name: "Plan" }).click()
    await ownerPage.getByRole("option", { name: "$79 a month" }).click()
    await plan.getByRole("button", { name: "Change" }).click()
    await expect.poll(() => ownerPage.getByRole("main").innerText()).toMatch(/Plan\s+\$79 a month/)
    const remove = await openDialog(ownerPage, "Remove")
    await remove.getByRole("button", { name: "Remove" }).click()
    await expect.poll(textOf(ownerPage, "Card")).toContain("No card on file")
    const card = await openDialog(ownerPage, "Add a card")
    await card.getByRole("combobox", { name: "Outcome of payments" }).click()
    await ownerPage.getByRole("option", { name: "Declined" }).click()
    await card.getByRole("button", { name: "Save the card" }).click()
    await expect.poll(textOf(ownerPage, "Card")).toContain("On file, not verified")
    const declined = await openDialog(ownerPage, "Verify")
    await declined.getByRole("button", { name: "Verify" }).click()
    await declined.getByRole("alert").waitFor()
    expect(await declined.getByRole("alert").innerText()).toContain("The card was declined")
    await ownerPage.keyboard.press("Escape")
    const other = await openDialog(ownerPage, "Change the card")
    await other.getByRole("button", { name: "Save the card" }).click()
    await expect.poll(() => ownerPage.getByRole("dialog").count()).toBe(0)
    const verified = await openDialog(ownerPage, "Verify")
    await verified.getByRole("button", { name: "Verify" }).click()
    await expect.poll(textOf(ownerPage, "Card")).toContain("On file, verified")
  })

  it("is hidden from a person with neither the permission Team nor See billing", async () => {
    const urs = await openSignedInPage(opened, await addConsolePerson(opened, "Urs", "user"))
    const links = await urs
      .getByRole("navigation", { name: "Pages" })
      .getByRole("link")
      .allInnerTexts()
    expect(links).toContain("Settings")
    expect(links).not.toContain("Team")
    expect(links).not.toContain("Billing")
    const at = urs.url().replace(/\/$/, "")
    await urs.goto(`${at}/team`)
    await urs.getByText("You have no access to the team").waitFor()
    await urs.goto(`${at}/billing`)
    await urs.getByText("You have no access to the bills").waitFor()
    expect(await urs.getByRole("button", { name: "Change the plan" }).count()).toBe(0)
  })
})
