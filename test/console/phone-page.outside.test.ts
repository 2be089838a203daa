/** The console's phone page, in a real browser. */
import { describe, expect, it } from "vitest"
import {
  addConsolePerson,
  openConsole,
  openSignedInPage,
  ownerCallerOf,
  createPhoneActivity,
} from "./chromium-console.ts"
import { pageFaultsOf, openAndSettle } from "./page-checks.ts"
import { setLimit, freezeRateWindow } from "../support/world.ts"

const BUSINESS: Readonly<Record<string, string>> = {
  "Legal name": "Acme Bakery LLC",
  "Known as": "Acme Bakery",
  "Tax number (EIN)": "123456789",
  "Street and number": "1 Main St",
  Town: "Austin",
  State: "TX",
  "ZIP code": "78701",
  "First name": "Ada",
  "Last name": "Lovelace",
  Email: "ada@acme.example",
  Phone: "+15125550123",
}

const opened = await openConsole()
const { ownerPage: page, companyId } = opened

const open = (tab: string) => openAndSettle(page, `/console/${companyId}/phone?tab=${tab}`)
const press = (name: string) => page.getByRole("button", { name, exact: true }).click()
const dialog = () => page.getByRole("dialog")
const pressInDialog = (name: string) => dialog().getByRole("button", { name, exact: true }).click()
const waitForText = (text: RegExp | string) => page.getByText(text).first().waitFor()

describe("the phone page", () => {
  it("has an empty state for each tab", async () => {
    for (const [tab, title] of [
      ["texts", "No texts"],
      ["calls", "No calls"],
      ["opt-outs", "No opt-outs"],
      ["opt-ins", "No opt-ins yet"],
    ] as const) {
      await open(tab)
      await expect.poll(() => page.getByText(title).count(), { message: tab }).toBe(1)
    }
  })

  it("sends a text, shows the conversation, and stops texting the number", async () => {
    await open("texts")
    await press("Send a text")
    await dialog().getByLabel("To", { exact: true }).fill("4155550123")
    await dialog().getByText("Must be a full number, such as +14155550123").waitFor()
    await dialog().getByLabel("To", { exact: true }).fill("+14155550123")
    await dialog().getByRole("textbox", { name: "Text" }).fill("Hello from acme")
    await pressInDialog("Send")
    await page.getByRole("link", { name: "+1 415 555 0123" }).first().click()
    await page.getByRole("heading", { level: 1, name: "+1 415 555 0123" }).waitFor()
    await expect
      .poll(() => page.getByRole("listitem").first().innerText())
      .toMatch(/Hello from acme/)
    await press("Stop texting")
    await pressInDialog("Stop texting")
    await waitForText("This number must not be texted")
    await expect.poll(() => page.getByRole("button", { name: "Reply" }).count()).toBe(0)
    await open("opt-outs")
    await press("Undo")
    await pressInDialog("Undo the opt-out")
    await waitForText("Opted in again")
  })

  it("searches for a number, buys it, sets the phones that ring, and releases it", async () => {
    await open("numbers")
    await page.getByLabel("Area code").fill("415")
    await press("Search")
    const offers = page.getByRole("region", { name: "Numbers for sale" })
    const offer = offers.getByRole("row").nth(1)
    const number = (await offer.getByRole("cell").first().innerText()).replaceAll("\u00a0", " ")
    expect(number).toMatch(/^\+1 415 /)
    await offer.getByRole("button", { name: "Buy" }).click()
    await expect.poll(() => dialog().innerText()).toMatch(/The first month, \$\d+\.\d\d/)
    await pressInDialog("Buy the number")
    const owned = page.getByRole("region", { name: "Your numbers", exact: true })
    await owned.getByRole("link", { name: number }).click()
    await press("Change")
    await dialog().getByLabel("Phones that ring").fill("+14155550144 Grace")
    await pressInDialog("Save")
    await waitForText("Grace")
    await press("Release")
    const release = dialog().getByRole("button", { name: "Release", exact: true })
    expect(await release.isDisabled()).toBe(true)
    await dialog()
      .getByLabel(/^This cannot be undone/)
      .fill(number.replaceAll(" ", ""))
    await release.click()
    await page.getByRole("heading", { level: 1, name: "Phone" }).waitFor()
    await expect.poll(() => owned.getByRole("link", { name: number }).count()).toBe(0)
  })

  it("shows how long to wait after too many number searches", async () => {
    const callApi = await ownerCallerOf(opened)
    // Programs and the console share the limit of ten searches a minute.
    freezeRateWindow(opened.world)
    const search = () => callApi("GET", "/phone/search?kind=local").then(() => "found", String)
    const answers = await Promise.all(Array.from({ length: 11 }, search))
    expect(answers.some((one) => one.includes("rate_limited"))).toBe(true)
    await open("numbers")
    await press("Search")
    await waitForText(/Try again in \d+ seconds/)
  })

  it("shows a text above the spending limit as a refusal", async () => {
    await setLimit(opened.world, opened, { dollars: "0.001" })
    await open("texts")
    await press("Send a text")
    await dialog().getByLabel("To", { exact: true }).fill("+14155550123")
    await dialog().getByRole("textbox", { name: "Text" }).fill("It pressInDialog not fit")
    await pressInDialog("Send")
    const refused = dialog().getByRole("group", { name: "Refused charge" })
    await expect.poll(() => refused.innerText()).toMatch(/general spending a month/)
    expect(await dialog().getByRole("textbox", { name: "Text" }).inputValue()).toBe(
      "It pressInDialog not fit",
    )
    await setLimit(opened.world, opened, { dollars: "40" })
  })

  it("shows calls, plays a voicemail, and has no accessibility faults", async () => {
    await createPhoneActivity(opened, await ownerCallerOf(opened))
    await open("calls")
    await page.getByRole("row").filter({ hasText: "Voicemail" }).getByRole("link").click()
    await page.getByRole("heading", { level: 1, name: /^Call from/ }).waitFor()
    const audio = page.locator("audio")
    await audio.waitFor()
    const address = new URL(String(await audio.getAttribute("src")), page.url()).href
    const answer = await page.request.get(address)
    expect([answer.status(), answer.headers()["content-type"]]).toEqual([200, "audio/mpeg"])
    expect(await pageFaultsOf(page)).toEqual([])
    for (const tab of ["numbers", "texts", "calls", "registration", "opt-outs"]) {
      await page.setViewportSize({ width: 390, height: 900 })
      await open(tab)
      expect(await pageFaultsOf(page), tab).toEqual([])
    }
    await page.setViewportSize({ width: 1440, height: 900 })
    await open("texts")
    await page.getByRole("row").filter({ hasText: "+1 415 555 0199" }).last().waitFor()
    // The text of a message is shown as text, never as HTML.
    await expect.poll(() => page.getByText("<b>Ada</b>").count()).toBe(1)
  })

  it("registers a business in test mode, step by step", async () => {
    await open("registration")
    const business = page.getByRole("region", { name: "1. Business" })
    await business.getByRole("button", { name: "Fill in" }).click()
    for (const [label, value] of Object.entries(BUSINESS)) {
      await dialog().getByRole("textbox", { name: label, exact: true }).fill(value)
    }
    await pressInDialog("Save")
    await business.getByText("Acme Bakery LLC").waitFor()
    await business.getByRole("button", { name: "Send for review" }).click()
    await dialog()
      .getByText(/A review costs \$\d+/)
      .waitFor()
    await pressInDialog("Send for review")
    await press("Approve pending parts")
    await pressInDialog("Approve")
    const parts = page.getByRole("region", { name: "Parts of the registration" })
    await expect.poll(() => parts.getByRole("row").nth(1).innerText()).toMatch(/Approved/)
    const pages = page.getByRole("region", { name: "2. Pages" })
    await pages.getByRole("button", { name: "Fill in" }).click()
    await dialog().getByLabel("Topics of texts").fill("Orders and pick-ups")
    await dialog().getByLabel("Support phone").fill("+15125550123")
    await dialog().getByLabel("Support email").fill("help@acme.example")
    await pressInDialog("Save")
    await pages.getByRole("button", { name: "Check now" }).click()
    await pressInDialog("Check")
    await pages.getByText("A reviewer would reject").waitFor()
    const campaign = page.getByRole("region", { name: "3. Campaign" })
    await campaign.getByRole("button", { name: "Write the campaign" }).click()
    await press("Fill in with a draft")
    await expect
      .poll(() => dialog().getByLabel("Content and recipients of texts").inputValue())
      .toMatch(/Acme Bakery/)
    await pressInDialog("Save")
    await campaign.getByRole("button", { name: "Send for review" }).waitFor()
    expect(await pageFaultsOf(page)).toEqual([])
  })

  it("is hidden from a person without the permission for the phone", async () => {
    const reader = await openSignedInPage(opened, await addConsolePerson(opened, "Joan", "user"))
    expect(await reader.getByRole("link", { name: "Phone" }).count()).toBe(0)
    await openAndSettle(reader, `/console/${companyId}/phone`)
    await reader.getByText("You have no access to texts and calls").waitFor()
    expect(await reader.getByRole("alert").count()).toBe(0)
    expect(await reader.getByRole("button", { name: "Buy" }).count()).toBe(0)
  })
})
