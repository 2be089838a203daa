/** Code, what was published of it, and boxes, as people work with them in the console. */
import type { Page } from "playwright-core"
import { describe, expect, it } from "vitest"
import { zipOf } from "../code/zips.ts"
import { personOf, openConsole, signedInPage, callerOf } from "./in-chromium.ts"

/** A build, a server and a browser: on a machine with other work to do that takes its time. */
const WITHIN_MS = 600_000

/** It looks like a key of a cloud and is none. */
const LIKE_A_SECRET = "AKIAIOSFODNN7ABCDEFG"

const opened = await openConsole()
const { owner, company } = opened

const go = (page: Page, name: string) => page.getByRole("link", { name, exact: true }).click()

/** Sends a zip by the page's form. */
async function upload(name: string, bytes: Buffer): Promise<void> {
  const form = owner.getByRole("dialog", { name: "Upload a zip" })
  if ((await form.count()) === 0) await owner.getByRole("button", { name: "Upload a zip" }).click()
  const file = { name, mimeType: "application/zip", buffer: bytes }
  await form.locator('input[type="file"]').setInputFiles(file)
  await form.getByRole("button", { name: "Upload a zip" }).click()
}

const FILES = zipOf([
  { name: "company.json", text: JSON.stringify({ company, static: "site" }) },
  { name: "site/index.html", text: "<h1>Hello</h1>" },
  { name: "notes.txt", text: `id = ${LIKE_A_SECRET}\n` },
])

describe("code", { timeout: WITHIN_MS }, () => {
  it("is taken as a zip once what looks like a secret is let through", async () => {
    await go(owner, "Code")
    await owner.getByText("There is no repository yet").waitFor()
    await owner.getByRole("button", { name: "Create the repository" }).click()
    const asks = owner.getByRole("dialog")
    await asks.getByRole("button", { name: "Create the repository" }).click()
    await owner.getByText("The repository is empty").waitFor()
    expect(await owner.getByRole("region", { name: "By git" }).innerText()).toContain("git clone")

    await upload("no.zip", Buffer.from("no zip"))
    const form = owner.getByRole("dialog", { name: "Upload a zip" })
    const said = () => form.getByRole("alert").innerText()
    await expect.poll(said).toMatch(/^This file cannot be taken: it is no zip file/)
    expect(await said()).toContain("Choose another file.")
    await upload("app.zip", FILES)
    const refused = form.getByRole("group", { name: "A refused push" })
    await refused.waitFor({ timeout: WITHIN_MS })
    expect(await refused.innerText()).toMatch(/notes\.txt, line 1: .*AKIA\*{4}/)

    await refused.getByRole("button", { name: "Let it through" }).click()
    const letting = owner.getByRole("dialog", { name: "Let it through" })
    await letting.getByLabel("Reason").fill("an example")
    await letting.getByRole("button", { name: "Let it through" }).click()
    await letting.waitFor({ state: "detached" })
    await form.getByRole("button", { name: "Upload a zip" }).click()
    await owner.getByText("The files were taken in.").waitFor({ timeout: WITHIN_MS })
    await owner.getByRole("cell", { name: "main (default)" }).waitFor()
  })

  it("lists pushes, and says of a refused one why", async () => {
    await owner.getByRole("link", { name: "Pushes", exact: true }).click()
    await owner.getByRole("cell", { name: "Landed" }).waitFor()
    const row = owner.getByRole("row").filter({ hasText: "Refused" })
    await row.getByRole("link").click()
    await owner.getByRole("heading", { name: "Why it was refused" }).waitFor()
    await expect.poll(() => owner.getByText("notes.txt, line 1").count()).toBe(1)
  })

  it("shows to a developer what a developer may", async () => {
    const page = await signedInPage(opened, await personOf(opened, "Dev", "developer"))
    await go(page, "Code")
    await page.getByRole("link", { name: "Pushes", exact: true }).click()
    await page.getByRole("row").filter({ hasText: "Refused" }).getByRole("link").click()
    await page.getByText("notes.txt, line 1").waitFor()
    expect(await page.getByRole("button", { name: "Let it through" }).count()).toBe(0)
    await go(page, "Code")
    await page.getByRole("link", { name: "Repository", exact: true }).waitFor()
    expect(await page.getByRole("link", { name: "Take out", exact: true }).count()).toBe(0)
    await go(page, "Boxes")
    await page.getByText("You have no box").waitFor()
    const theirs = await signedInPage(opened, await personOf(opened, "Uma", "user"))
    expect(await theirs.getByRole("link", { name: "Code", exact: true }).count()).toBe(0)
    expect(await theirs.getByRole("link", { name: "Boxes", exact: true }).count()).toBe(0)
  })
})

describe("what is published", { timeout: WITHIN_MS }, () => {
  it("is listed with who and what it cost, and has its log", async () => {
    await go(owner, "Previews")
    await owner.getByText("Nothing was published yet").waitFor()
    const { refs } = await opened.world.operate("repository show", { company })
    const ask = await callerOf(opened)
    const queued = await ask("POST", "/publish/preview", { commit: refs[0].id })
    expect(queued).toMatchObject({ status: "queued" })
    await opened.world.operate("wait")
    await owner.reload()
    const live = owner.getByRole("cell", { name: "Live", exact: true })
    const row = owner.getByRole("row").filter({ has: live })
    await row.getByRole("link", { name: "$0.25" }).waitFor()
    await expect.poll(() => row.innerText()).toContain("Ada Example")
    await row.getByRole("link").first().click()
    const log = owner.getByRole("region", { name: "Build" })
    await expect.poll(() => log.innerText()).toContain("simulated")
  })
})

describe("a box", { timeout: WITHIN_MS }, () => {
  it("is worked in, and stopped by typing its name", async () => {
    const ask = await callerOf(opened)
    const { id } = await ask("POST", "/sandboxes", { size: "small", label: "fix the tests" })
    await opened.world.operate("wait")
    const file = { path: "notes.txt", content: LIKE_A_SECRET }
    await ask("PUT", `/sandboxes/${id}/files/content`, file)
    await go(owner, "Boxes")
    await owner.getByRole("link", { name: "fix the tests" }).click()
    await owner.getByRole("link", { name: "Commands", exact: true }).click()
    await owner.getByLabel("Run a command").fill("echo hello")
    await owner.getByRole("button", { name: "Run", exact: true }).click()
    const wrote = owner.getByRole("region", { name: "What it wrote" })
    await expect.poll(async () => (await wrote.first().innerText()).trim()).toBe("hello")
    await owner.getByRole("link", { name: "Files", exact: true }).click()
    await owner.getByRole("link", { name: "notes.txt" }).click()
    const content = owner.getByRole("region", { name: "Content" })
    await expect.poll(() => content.innerText()).toContain(LIKE_A_SECRET)

    await owner.getByRole("button", { name: "Stop", exact: true }).click()
    const asks = owner.getByRole("dialog")
    const stop = asks.getByRole("button", { name: "Stop" })
    expect(await stop.isDisabled()).toBe(true)
    await asks.getByLabel(/type fix the tests/).fill("fix the tests")
    await stop.click()
    await owner.getByText("Somebody stopped it").waitFor()
    await go(owner, "Boxes")
    await owner.getByRole("cell", { name: "Stopped" }).waitFor()
    await owner.goto(`${owner.url()}?status=running`)
    await owner.getByText("No box stands so").waitFor()
  })
})
