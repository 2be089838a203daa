/** The console's pages of code, previews and boxes, in a real browser. */
import type { Page } from "playwright-core"
import { describe, expect, it } from "vitest"
import { buildZip } from "../code/zips.ts"
import {
  addConsolePerson,
  openConsole,
  openSignedInPage,
  ownerCallerOf,
} from "./chromium-console.ts"

/** Builds, a server and a browser are slow on a busy machine. */
const WITHIN_MS = 600_000

/** Looks like a cloud provider's key. */
const LIKE_A_SECRET = "AKIAIOSFODNN7ABCDEFG"

const opened = await openConsole()
const { ownerPage, company } = opened

const go = (page: Page, name: string) => page.getByRole("link", { name, exact: true }).click()

/** Sends a zip by the page's form. */
async function upload(name: string, bytes: Buffer): Promise<void> {
  const form = ownerPage.getByRole("dialog", { name: "Upload a zip" })
  if ((await form.count()) === 0)
    await ownerPage.getByRole("button", { name: "Upload a zip" }).click()
  const file = { name, mimeType: "application/zip", buffer: bytes }
  await form.locator('input[type="file"]').setInputFiles(file)
  await form.getByRole("button", { name: "Upload a zip" }).click()
}

const FILES = buildZip([
  { name: "company.json", text: JSON.stringify({ company, static: "site" }) },
  { name: "site/index.html", text: "<h1>Hello</h1>" },
  { name: "notes.txt", text: `id = ${LIKE_A_SECRET}\n` },
])

describe("code", { timeout: WITHIN_MS }, () => {
  it("is accepted as a zip after a person allows what looks like a secret", async () => {
    await go(ownerPage, "Code")
    await ownerPage.getByText("No repository yet").waitFor()
    await ownerPage.getByRole("button", { name: "Create the repository" }).click()
    const asks = ownerPage.getByRole("dialog")
    await asks.getByRole("button", { name: "Create the repository" }).click()
    await ownerPage.getByText("The repository is empty").waitFor()
    expect(await ownerPage.getByRole("region", { name: "With git" }).innerText()).toContain(
      "git clone",
    )

    await upload("no.zip", Buffer.from("no zip"))
    const form = ownerPage.getByRole("dialog", { name: "Upload a zip" })
    const alert = () => form.getByRole("alert").innerText()
    await expect.poll(alert).toMatch(/^This file cannot be used: it is not a zip file/)
    expect(await alert()).toContain("Choose another file.")
    await upload("app.zip", FILES)
    const refused = form.getByRole("group", { name: "Refused push" })
    await refused.waitFor({ timeout: WITHIN_MS })
    expect(await refused.innerText()).toMatch(/notes\.txt, line 1: .*AKIA\*{4}/)

    await refused.getByRole("button", { name: "Allow" }).click()
    const allowing = ownerPage.getByRole("dialog", { name: "Allow" })
    await allowing.getByLabel("Reason").fill("an example")
    await allowing.getByRole("button", { name: "Allow" }).click()
    await allowing.waitFor({ state: "detached" })
    await form.getByRole("button", { name: "Upload a zip" }).click()
    await ownerPage.getByText("The files were committed.").waitFor({ timeout: WITHIN_MS })
    await ownerPage.getByRole("cell", { name: "main (default)" }).waitFor()
  })

  it("lists pushes, and gives the reason of a rejected one", async () => {
    await ownerPage.getByRole("link", { name: "Pushes", exact: true }).click()
    await ownerPage.getByRole("cell", { name: "Completed" }).waitFor()
    const row = ownerPage.getByRole("row").filter({ hasText: "Refused" })
    await row.getByRole("link").click()
    await ownerPage.getByRole("heading", { name: "Reason of the refusal" }).waitFor()
    await expect.poll(() => ownerPage.getByText("notes.txt, line 1").count()).toBe(1)
  })

  it("shows a developer only what a developer may use", async () => {
    const page = await openSignedInPage(opened, await addConsolePerson(opened, "Dev", "developer"))
    await go(page, "Code")
    await page.getByRole("link", { name: "Pushes", exact: true }).click()
    await page.getByRole("row").filter({ hasText: "Refused" }).getByRole("link").click()
    await page.getByText("notes.txt, line 1").waitFor()
    expect(await page.getByRole("button", { name: "Allow" }).count()).toBe(0)
    await go(page, "Code")
    await page.getByRole("link", { name: "Repository", exact: true }).waitFor()
    expect(await page.getByRole("link", { name: "Remove content", exact: true }).count()).toBe(0)
    await go(page, "Boxes")
    await page.getByText("You have no boxes").waitFor()
    const userPage = await openSignedInPage(opened, await addConsolePerson(opened, "Uma", "user"))
    expect(await userPage.getByRole("link", { name: "Code", exact: true }).count()).toBe(0)
    expect(await userPage.getByRole("link", { name: "Boxes", exact: true }).count()).toBe(0)
  })
})

describe("a preview", { timeout: WITHIN_MS }, () => {
  it("is listed with its publisher, its charge and its build log", async () => {
    await go(ownerPage, "Previews")
    await ownerPage.getByText("No publishes yet").waitFor()
    const { refs } = await opened.world.operate("repository show", { company })
    const callApi = await ownerCallerOf(opened)
    const queued = await callApi("POST", "/publish/preview", { commit: refs[0].id })
    expect(queued).toMatchObject({ status: "queued" })
    await opened.world.operate("wait")
    await ownerPage.reload()
    const live = ownerPage.getByRole("cell", { name: "Live", exact: true })
    const row = ownerPage.getByRole("row").filter({ has: live })
    await row.getByRole("link", { name: "$0.25" }).waitFor()
    await expect.poll(() => row.innerText()).toContain("Ada Example")
    await row.getByRole("link").first().click()
    const log = ownerPage.getByRole("region", { name: "Build" })
    await expect.poll(() => log.innerText()).toContain("Simulated build")
  })
})

describe("a box", { timeout: WITHIN_MS }, () => {
  it("runs commands, shows files, and is stopped by typing its name", async () => {
    const callApi = await ownerCallerOf(opened)
    const { id } = await callApi("POST", "/sandboxes", { size: "small", label: "fix the tests" })
    await opened.world.operate("wait")
    const file = { path: "notes.txt", content: LIKE_A_SECRET }
    await callApi("PUT", `/sandboxes/${id}/files/content`, file)
    await go(ownerPage, "Boxes")
    await ownerPage.getByRole("link", { name: "fix the tests" }).click()
    await ownerPage.getByRole("link", { name: "Commands", exact: true }).click()
    await ownerPage.getByLabel("Run a command").fill("echo hello")
    await ownerPage.getByRole("button", { name: "Run", exact: true }).click()
    const wrote = ownerPage.getByRole("region", { name: "Output" })
    await expect.poll(async () => (await wrote.first().innerText()).trim()).toBe("hello")
    await ownerPage.getByRole("link", { name: "Files", exact: true }).click()
    await ownerPage.getByRole("link", { name: "notes.txt" }).click()
    const content = ownerPage.getByRole("region", { name: "Content" })
    await expect.poll(() => content.innerText()).toContain(LIKE_A_SECRET)

    await ownerPage.getByRole("button", { name: "Stop", exact: true }).click()
    const asks = ownerPage.getByRole("dialog")
    const stop = asks.getByRole("button", { name: "Stop" })
    expect(await stop.isDisabled()).toBe(true)
    await asks.getByLabel(/Type fix the tests/).fill("fix the tests")
    await stop.click()
    await ownerPage.getByText("Stopped by a person").waitFor()
    await go(ownerPage, "Boxes")
    await ownerPage.getByRole("cell", { name: "Stopped" }).waitFor()
    await ownerPage.goto(`${ownerPage.url()}?status=running`)
    await ownerPage.getByText("No matching boxes").waitFor()
  })
})
