/** The console's ledger page: streams, events, the signed head and verification. */
import { readFileSync } from "node:fs"
import type { Page } from "playwright-core"
import { describe, expect, it } from "vitest"
import {
  openConsole,
  addConsolePerson,
  openSignedInPage,
  createSpending,
} from "./chromium-console.ts"

/** Builds, a server and a browser are slow on a busy machine. */
const WITHIN_MS = 600_000

/** Tabs of the page, and the command that each offers to copy. */
const COMMANDS = [
  ["Verify", "audit verify"],
  ["Head and key", "audit head"],
] as const

const opened = await openConsole(createSpending)
const { ownerPage, company, email } = opened

async function pageOf(role: string): Promise<Page> {
  return openSignedInPage(opened, await addConsolePerson(opened, role, role))
}

async function openStream(page: Page, title: string): Promise<void> {
  await page.getByRole("link", { name: "Ledger", exact: true }).click()
  await page.getByRole("link", { name: title }).click()
  await page.getByRole("heading", { level: 1, name: title }).waitFor()
}

describe("the ledger's page", { timeout: WITHIN_MS }, () => {
  it("offers commands limited to this company", async () => {
    await ownerPage.context().grantPermissions(["clipboard-read", "clipboard-write"])
    await ownerPage.getByRole("link", { name: "Ledger", exact: true }).click()
    for (const [tab, command] of COMMANDS) {
      await ownerPage.getByRole("link", { name: tab, exact: true }).click()
      const main = ownerPage.getByRole("main")
      await main.getByRole("button", { name: "Copy as command" }).click()
      await main.getByRole("button", { name: "Copied" }).waitFor()
      const copied = await ownerPage.evaluate("navigator.clipboard.readText()")
      expect(copied).toBe(`company-ledger ${command} --company ${company}`)
    }
  })

  it("shows each event with its hash and the previous hash, and unseals personal fields by a switch", async () => {
    await openStream(ownerPage, "People, keys and roles")
    await ownerPage.getByRole("link", { name: "PersonAdded" }).click()
    const event = ownerPage.getByRole("dialog")
    const hash = event.getByRole("region", { name: "Hash" })
    const before = await event.getByRole("region", { name: "Previous" }).innerText()
    expect(await hash.innerText()).toMatch(/^[0-9a-f]{64}$/)
    expect(before).toMatch(/^[0-9a-f]{64}$/)
    const data = event.getByRole("region", { name: "Data", exact: true })
    expect(await data.innerText()).not.toContain(email)
    await event.getByRole("switch", { name: "Show personal fields" }).click()
    await expect.poll(() => data.innerText(), { timeout: WITHIN_MS }).toContain(email)
    // The previous hash is the hash of the previous event.
    await ownerPage.goto(ownerPage.url().replace(/event=\d+/, "event=0"))
    await expect.poll(() => hash.innerText(), { timeout: WITHIN_MS }).toBe(before)
    const none = event.getByRole("region", { name: "Previous: none, this is the first" })
    expect(await none.innerText()).toBe("0".repeat(64))
  })

  it("filters streams by event type, and says if none match", async () => {
    await ownerPage.getByRole("dialog").getByRole("button", { name: "Close" }).click()
    await ownerPage.getByRole("link", { name: "Ledger", exact: true }).first().click()
    await ownerPage.getByRole("combobox", { name: "Type of event" }).click()
    await ownerPage.getByRole("option", { name: "KeyDeleted" }).click()
    await ownerPage.getByText("No matching streams").waitFor()
    expect(ownerPage.url()).toContain("type=KeyDeleted")
  })

  it("shows the events of one request, found in the palette by the request's id", async () => {
    const operation = `/console/${new URL(ownerPage.url()).pathname.split("/")[2]}/operations/limit-set`
    const requestId = await ownerPage.evaluate(async (path) => {
      const headers = { "x-console": "1", "content-type": "application/json" }
      const limit = { class: "general", period: "week", dollars: "70" }
      const body = JSON.stringify({ input: limit })
      const answer = await fetch(path, { method: "POST", headers, body })
      return answer.ok ? answer.headers.get("x-request-id") : answer.text()
    }, operation)
    await ownerPage.keyboard.press("Control+k")
    await ownerPage.getByRole("textbox", { name: "Go to" }).fill(String(requestId))
    await ownerPage.getByRole("dialog").getByText(`Request ${requestId}`).click()
    await ownerPage.getByRole("table").getByText("Charges, funds and limits").waitFor()
    // The request caused one event of one stream.
    await expect.poll(() => ownerPage.locator("tbody tr").count(), { timeout: WITHIN_MS }).toBe(1)
    await ownerPage.getByRole("link", { name: "Charges, funds and limits" }).click()
    await ownerPage.getByRole("link", { name: "LimitSet" }).waitFor()
    expect(await ownerPage.locator("tbody tr").count()).toBe(1)
    await ownerPage.getByRole("button", { name: "Show all" }).click()
    await expect.poll(() => ownerPage.locator("tbody tr").count()).toBeGreaterThan(1)
    await ownerPage.getByRole("link", { name: "Ledger", exact: true }).first().click()
  })

  it("verifies the whole ledger, and names the failed check if a saved head is unknown", async () => {
    await ownerPage.getByRole("link", { name: "Verify", exact: true }).click()
    await ownerPage.getByRole("button", { name: "Verify" }).click()
    await ownerPage.getByText("All checks passed").waitFor({ timeout: WITHIN_MS })
    await expect.poll(() => ownerPage.getByText(/^(\d+) of \1$/).count()).toBe(1)
    const savedHead = ownerPage.getByLabel("A head or hash that you saved")
    await savedHead.fill("123")
    await ownerPage.getByText("64 lowercase hexadecimal digits").waitFor()
    await savedHead.fill("0".repeat(64))
    await ownerPage.getByRole("button", { name: "Verify" }).click()
    await ownerPage.getByText("A check failed").waitFor({ timeout: WITHIN_MS })
    await ownerPage.getByText("First failed check").waitFor()
  })

  it("shows the public key and the head, and exports the raw streams", async () => {
    await ownerPage.getByRole("link", { name: "Head and key", exact: true }).click()
    await ownerPage.getByRole("button", { name: "Sign and show the head" }).click()
    const key = await ownerPage.getByRole("region", { name: "Public key (Ed25519)" }).innerText()
    const { publicKey } = await opened.world.operate("audit head", { company })
    expect(key).toBe(publicKey)
    await ownerPage.getByRole("button", { name: "Export" }).click()
    const saving = ownerPage.waitForEvent("download")
    await ownerPage.getByRole("dialog").getByRole("button", { name: "Download" }).click()
    const lines = readFileSync(await (await saving).path(), "utf8")
      .trim()
      .split("\n")
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({ companyLedger: "export" })
    expect(lines.at(-1)).toContain("manifest")
  })

  it("does not unseal personal fields for a manager, and is hidden without the permission See billing", async () => {
    const manager = await pageOf("manager")
    await openStream(manager, "People, keys and roles")
    await manager.getByRole("link", { name: "CompanyOpened" }).click()
    await manager.getByRole("region", { name: "Data", exact: true }).waitFor()
    expect(await manager.getByLabel("Show personal fields").count()).toBe(0)
    const user = await pageOf("user")
    expect(await user.getByRole("link", { name: "Ledger", exact: true }).count()).toBe(0)
    await user.goto(`${manager.url().split("/ledger/")[0]}/ledger`)
    await user.getByText("You have no access to the ledger").waitFor()
    expect(await user.getByRole("main").innerText()).toContain("“See billing”")
    expect(await user.getByRole("alert").count()).toBe(0)
  })
})
