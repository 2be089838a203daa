/** The console's pages of email, domains and leads, in a real browser. */
import { describe, expect, it } from "vitest"
import {
  addConsolePerson,
  openConsole,
  openSignedInPage,
  createLeadActivity,
  ownerCallerOf,
  createMailActivity,
} from "./chromium-console.ts"
import { pageFaultsOf, openAndSettle } from "./page-checks.ts"

const opened = await openConsole()
const { ownerPage: page, companyId } = opened

/** Time to retry until the page's check falls into a minute whose rate limit is used up. */
const RATE_LIMITED_WITHIN_MS = 120_000

const open = (path: string) => openAndSettle(page, `/console/${companyId}/${path}`)
const press = (name: string) => page.getByRole("button", { name, exact: true }).click()
const dialog = () => page.getByRole("dialog")
const pressInDialog = (name: string) => dialog().getByRole("button", { name, exact: true }).click()
const waitForText = (text: RegExp | string) => page.getByText(text).first().waitFor()

describe("the pages of email, domains and leads", () => {
  it("have an empty state", async () => {
    for (const [path, title] of [
      ["email", "No mails"],
      ["email?tab=suppressed", "No suppressed addresses"],
      ["email?tab=senders", "No sending domains yet"],
      ["domains", "No domains yet"],
      ["leads", "No leads"],
      ["leads?tab=forms", "No forms yet"],
    ] as const) {
      await open(path)
      await waitForText(title)
    }
    await expect.poll(() => page.getByRole("button", { name: "Open a form" }).count()).toBe(1)
  })

  it("connect a domain, check it, add a record and remove the domain by its name", async () => {
    await open("domains")
    await press("Connect a domain")
    await dialog().getByLabel("Domain").fill("https://other.example")
    await dialog().getByText("Must be a domain, such as acme.com").waitFor()
    await dialog().getByLabel("Domain").fill("other.example")
    await pressInDialog("Connect")
    await page.getByRole("heading", { level: 1, name: "other.example" }).waitFor()
    const servers = page.getByRole("region", { name: "Name servers", exact: true }).last()
    await expect.poll(() => servers.getByRole("row").count()).toBeGreaterThan(1)
    await press("Check now")
    await pressInDialog("Check")
    await waitForText("other.example points here.")
    await press("Add a record")
    await dialog().getByLabel("Content").fill("verification=4Zb0x7")
    await pressInDialog("Add")
    await waitForText("verification=4Zb0x7")
    await press("Zone file")
    await dialog()
      .getByText(/verification=4Zb0x7/)
      .waitFor()
    await page.keyboard.press("Escape")
    await page.getByRole("button", { name: "Remove", exact: true }).first().click()
    const remove = dialog().getByRole("button", { name: "Remove", exact: true })
    expect(await remove.isDisabled()).toBe(true)
    await dialog()
      .getByLabel(/^This cannot be undone/)
      .fill("other.example")
    await remove.click()
    await waitForText("No domains yet")
  })

  it("open a form, show its leads, and erase a lead permanently", async () => {
    await open("leads?tab=forms")
    await press("Open a form")
    await dialog().getByLabel("Name", { exact: true }).fill("Ask us")
    await pressInDialog("Open the form")
    await dialog()
      .getByText(/<form method="post"/)
      .waitFor()
    await page.keyboard.press("Escape")
    await createLeadActivity(opened)
    await open("leads")
    await page.getByRole("link", { name: "Ada Lovelace" }).click()
    await page.getByRole("heading", { level: 1, name: "Ada Lovelace" }).waitFor()
    // A lead's message is shown as text, and an address that is not a web page is not a link.
    await waitForText(/<script>alert\(1\)<\/script>/)
    expect(await page.getByRole("link", { name: /javascript/ }).count()).toBe(0)
    await expect.poll(() => page.getByText("javascript:alert(1)").count()).toBe(1)
    expect(await pageFaultsOf(page)).toEqual([])
    await press("Mark as collected")
    await pressInDialog("Mark as collected")
    await waitForText("Collected")
    await press("Erase")
    await dialog()
      .getByLabel(/^This cannot be undone/)
      .fill("Ada Lovelace")
    await pressInDialog("Erase")
    await page.getByRole("heading", { level: 1, name: "Erased" }).waitFor()
    await open("leads?state=new")
    await page.getByRole("link", { name: "Grace" }).waitFor()
    await expect.poll(() => page.getByRole("row").count()).toBe(2)
  })

  it("look up an address", async () => {
    await open("leads?tab=addresses")
    await page.getByLabel("Part of the address").fill("12 map")
    await press("Suggest")
    await page
      .getByRole("button", { name: /^Look up / })
      .first()
      .click()
    await page.getByText("ZIP code").waitFor()
    expect(await pageFaultsOf(page)).toEqual([])
  })

  it("show the status of mails, and send a test mail", async () => {
    await createMailActivity(opened, await ownerCallerOf(opened))
    await open("email")
    await page.getByRole("link", { name: "grace@example.com" }).click()
    await page.getByRole("heading", { level: 1, name: /^Mail from/ }).waitFor()
    await expect.poll(() => page.getByRole("row").count()).toBe(3)
    expect(await pageFaultsOf(page)).toEqual([])
    await open("email?status=bounced")
    await page.getByRole("link", { name: "gone@example.com" }).waitFor()
    await expect.poll(() => page.getByRole("row").count()).toBe(2)
    await open("email?tab=senders")
    await waitForText("Verified")
    await press("Unsubscribe button")
    await pressInDialog("Save")
    await waitForText("Applies from the next mail.")
    await open("email")
    await press("Send a test mail")
    await pressInDialog("Send")
    await waitForText(/From test@acme\.example to ada@acme-\d+\.example/)
  })

  it("fit narrow screens and have no accessibility faults", async () => {
    await page.setViewportSize({ width: 390, height: 900 })
    for (const path of ["email", "email?tab=senders", "domains", "leads", "leads?tab=forms"]) {
      await open(path)
      expect(await pageFaultsOf(page), path).toEqual([])
    }
    await page.getByRole("button", { name: "Embed" }).first().waitFor()
  })

  it("show how long to wait after too many domain checks", async () => {
    const callApi = await ownerCallerOf(opened)
    const { id } = await callApi("POST", "/domain", { domain: "last.example" })
    // Programs and the console share the limit of six checks a minute.
    const check = () =>
      callApi("POST", "/domain", { check: true, domainId: id }).then(() => "checked", String)
    const waits = dialog().getByText(/Try again in \d+ seconds/)
    const checkInPage = async () => {
      const answers = await Promise.all(Array.from({ length: 7 }, check))
      expect(answers.some((one) => one.includes("rate_limited"))).toBe(true)
      await open(`domains/${id}`)
      await press("Check now")
      await pressInDialog("Check")
      await waits
        .or(page.getByText(/^The registrar lists/))
        .first()
        .waitFor()
      return waits.isVisible()
    }
    // A new minute may begin between the calls and the page, but not at every retry.
    await expect.poll(checkInPage, { timeout: RATE_LIMITED_WITHIN_MS }).toBe(true)
  })

  it("show only what a person has permission for", async () => {
    const joan = await addConsolePerson(opened, "Joan", "user", ["Read leads"])
    const reader = await openSignedInPage(opened, joan)
    for (const name of ["Email", "Domains", "Phone"]) {
      expect(await reader.getByRole("link", { name, exact: true }).count(), name).toBe(0)
    }
    await openAndSettle(reader, `/console/${companyId}/leads?tab=forms`)
    await reader.getByRole("link", { name: "Contact us" }).waitFor()
    expect(await reader.getByRole("button", { name: "Open a form" }).count()).toBe(0)
    expect(await reader.getByRole("button", { name: "Close" }).count()).toBe(0)
    expect(await reader.getByRole("link", { name: "Address look-up" }).count()).toBe(0)
  })
})
