/** What people do on the console's pages of email, domains and leads, in a real browser. */
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

/** So long a page is tried until its check meets a minute that is used up. */
const REFUSED_WITHIN_MS = 120_000

const open = (place: string) => openAndSettle(page, `/console/${companyId}/${place}`)
const press = (name: string) => page.getByRole("button", { name, exact: true }).click()
const dialog = () => page.getByRole("dialog")
const does = (name: string) => dialog().getByRole("button", { name, exact: true }).click()
const said = (text: RegExp | string) => page.getByText(text).first().waitFor()

describe("the pages of email, domains and leads", () => {
  it("say what would be there where nothing is yet", async () => {
    for (const [place, title] of [
      ["email", "No mails"],
      ["email?tab=suppressed", "No suppressed addresses"],
      ["email?tab=senders", "No sending domains yet"],
      ["domains", "No domains yet"],
      ["leads", "No leads"],
      ["leads?tab=forms", "No forms yet"],
    ] as const) {
      await open(place)
      await said(title)
    }
    await expect.poll(() => page.getByRole("button", { name: "Open a form" }).count()).toBe(1)
  })

  it("connect a domain, check it, add a record and remove the domain by its name", async () => {
    await open("domains")
    await press("Connect a domain")
    await dialog().getByLabel("Domain").fill("https://other.example")
    await dialog().getByText("Must be a domain, such as acme.com").waitFor()
    await dialog().getByLabel("Domain").fill("other.example")
    await does("Connect")
    await page.getByRole("heading", { level: 1, name: "other.example" }).waitFor()
    const servers = page.getByRole("region", { name: "Name servers", exact: true }).last()
    await expect.poll(() => servers.getByRole("row").count()).toBeGreaterThan(1)
    await press("Check now")
    await does("Check")
    await said("other.example points here.")
    await press("Add a record")
    await dialog().getByLabel("Content").fill("verification=4Zb0x7")
    await does("Add")
    await said("verification=4Zb0x7")
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
    await said("No domains yet")
  })

  it("open a form, show what came by it, and erase that for ever", async () => {
    await open("leads?tab=forms")
    await press("Open a form")
    await dialog().getByLabel("Name", { exact: true }).fill("Ask us")
    await does("Open the form")
    await dialog()
      .getByText(/<form method="post"/)
      .waitFor()
    await page.keyboard.press("Escape")
    await createLeadActivity(opened)
    await open("leads")
    await page.getByRole("link", { name: "Ada Lane" }).click()
    await page.getByRole("heading", { level: 1, name: "Ada Lane" }).waitFor()
    // What somebody wrote is text, and an address of no web page is no link.
    await said(/<script>alert\(1\)<\/script>/)
    expect(await page.getByRole("link", { name: /javascript/ }).count()).toBe(0)
    await expect.poll(() => page.getByText("javascript:alert(1)").count()).toBe(1)
    expect(await pageFaultsOf(page)).toEqual([])
    await press("Mark as collected")
    await does("Mark as collected")
    await said("Collected")
    await press("Erase")
    await dialog()
      .getByLabel(/^This cannot be undone/)
      .fill("Ada Lane")
    await does("Erase")
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

  it("show what became of mails, and send a test mail", async () => {
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
    await said("Verified")
    await press("Unsubscribe button")
    await does("Save")
    await said("Applies from the next mail.")
    await open("email")
    await press("Send a test mail")
    await does("Send")
    await said(/From test@acme\.example to ada@acme-\d+\.example/)
  })

  it("have no page that is too wide or shuts anybody out", async () => {
    await page.setViewportSize({ width: 390, height: 900 })
    for (const place of ["email", "email?tab=senders", "domains", "leads", "leads?tab=forms"]) {
      await open(place)
      expect(await pageFaultsOf(page), place).toEqual([])
    }
    await page.getByRole("button", { name: "Embed" }).first().waitFor()
  })

  it("say how long to wait where too many domains were checked", async () => {
    const ask = await ownerCallerOf(opened)
    const { id } = await ask("POST", "/domain", { domain: "last.example" })
    // The same six a minute are those of programs.
    const check = () =>
      ask("POST", "/domain", { check: true, domainId: id }).then(() => "checked", String)
    const waits = dialog().getByText(/Try again in \d+ seconds/)
    const checkInPage = async () => {
      const answers = await Promise.all(Array.from({ length: 7 }, check))
      expect(answers.some((one) => one.includes("rate_limited"))).toBe(true)
      await open(`domains/${id}`)
      await press("Check now")
      await does("Check")
      await waits
        .or(page.getByText(/^Its registrar names/))
        .first()
        .waitFor()
      return waits.isVisible()
    }
    // A minute may begin anew between the calls and the page, but not each time.
    await expect.poll(checkInPage, { timeout: REFUSED_WITHIN_MS }).toBe(true)
  })

  it("show only as much as somebody may", async () => {
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
