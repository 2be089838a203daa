/** A person's journey: push with git, publish, sign in at the preview in a browser, publish again, see the change. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import type { Browser, Page } from "playwright-core"
import { afterAll, beforeAll, expect, it } from "vitest"
import { noSandboxReason, sandboxRequirement } from "../boxhost/sandbox-hosts.ts"
import { git } from "../code/git.ts"
import type { ServerDataFolder, ServerProcess } from "../support/server-process.ts"
import { makeDataFolder } from "../support/server-process.ts"
import { noChromiumReason, openChromium } from "./chromium.ts"
import type { FilesByPath } from "./publish-world.ts"
import { PUBLISHES_PATH, siteCompanyFile } from "./publish-world.ts"

const skipReason = noSandboxReason ?? noChromiumReason

const EMAIL = "ann@example.com"
/** The first build and database take long while other tests run. */
const WITHIN_MS = 90_000

/** An app that counts visits and greets WebSockets. It has no packages, because those would need a registry. */
const SERVER = `
const { createHash } = require("node:crypto")
const { appendFileSync, readFileSync } = require("node:fs")
const { createServer } = require("node:http")
const visits = process.env.STORAGE_DIR + "/visits"
const page = () => \`<title>The app</title><h1>Visit \${readFileSync(visits, "utf8").length}</h1><p></p><script>
  const socket = new WebSocket("ws://" + location.host + "/socket")
  socket.onmessage = ({ data }) => document.querySelector("p").append(data)
</script>\`
const server = createServer((request, answer) => {
  if (request.url === "/") appendFileSync(visits, "x")
  answer.setHeader("content-type", "text/html")
  answer.end(request.url === "/" ? page() : "")
})
server.on("upgrade", ({ headers }, socket) => {
  const key = headers["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
  const accepted = createHash("sha1").update(key).digest("base64")
  socket.write("HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\n")
  socket.write("Sec-WebSocket-Accept: " + accepted + "\\r\\n\\r\\n")
  socket.write(Buffer.from([0x81, 9, ...Buffer.from("connected")]))
  socket.on("error", () => socket.destroy())
})
server.listen(process.env.PORT)
`

let dataFolder: ServerDataFolder
let server: ServerProcess
let browser: Browser
let copy: string
beforeAll(async () => {
  if (skipReason !== null) return
  copy = mkdtempSync(join(tmpdir(), "published-"))
  dataFolder = await makeDataFolder()
  server = await dataFolder.start()
  browser = await openChromium()
}, WITHIN_MS)
afterAll(async () => {
  if (skipReason !== null) return
  await browser.close()
  // Sandboxes of previews outlive the server.
  await dataFolder.runCommand("preview", "reset", "--company", "acme", "--yes")
  await dataFolder.removeFiles()
  rmSync(copy, { recursive: true })
}, WITHIN_MS)

/** Creates a company whose owner has a key, and a working copy that pushes with it; returns the key. */
async function openCompany(): Promise<string> {
  const owner = ["--owner-name", "Ann", "--owner-email", EMAIL]
  const { ownerId } = await dataFolder.runCommand(
    "company",
    "create",
    "acme",
    "--funds",
    "5",
    ...owner,
  )
  await dataFolder.runCommand("card", "set", "--company", "acme", "--verified")
  await dataFolder.runCommand("repository", "create", "--company", "acme")
  const whose = ["--company", "acme", "--person", ownerId, "--all-operations"]
  const { key } = await dataFolder.runCommand("key", "create", ...whose)
  git(copy, "init", "-q", "--initial-branch=main")
  const { host } = new URL(server.url)
  git(copy, "remote", "add", "origin", `http://acme:${key}@${host}/git/acme.git`)
  return key
}

/** Pushes and publishes files; returns the publish once it is live. */
async function publish(key: string, files: FilesByPath) {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(copy, path)), { recursive: true })
    writeFileSync(join(copy, path), content)
  }
  git(copy, "add", "-A")
  git(copy, "commit", "-q", "-m", "more")
  git(copy, "push", "-q", "origin", "main")
  const commit = git(copy, "rev-parse", "HEAD")
  const queued = await server.call(key, "POST", `${PUBLISHES_PATH}/preview`, { body: { commit } })
  expect(queued.status).toBe(202)
  await dataFolder.runCommand("wait")
  const { publishes } = await dataFolder.runCommand("publish", "list", "--company", "acme")
  expect(publishes[0]).toMatchObject({ commit, error: null, status: "live" })
  return publishes[0] as { readonly url: string }
}

async function signIn(page: Page): Promise<void> {
  await page.getByLabel("Email").fill(EMAIL)
  await page.getByRole("button", { name: "Email me a code" }).click()
  await page.getByLabel("Code").waitFor()
  const sent = async () => (await dataFolder.runCommand("mail", "list", "--company", "acme")).mails
  let mails = await sent()
  while (mails.length === 0) mails = await sent()
  await page.getByLabel("Code").fill(mails[0].subject.slice(0, 6))
  await page.getByRole("button", { name: "Sign in" }).click()
}

it(
  "a push is published, visible after signing in, and replaced by the next",
  { timeout: 4 * WITHIN_MS },
  async (ctx) => {
    ctx.skip(
      skipReason !== null,
      noSandboxReason === null ? String(noChromiumReason) : sandboxRequirement,
    )
    const key = await openCompany()
    const site = { "company.json": siteCompanyFile("acme"), "site/index.html": "<h1>One</h1>" }
    const { url } = await publish(key, { ...site, "site/a/index.html": "<h1>Deep</h1>" })
    const person = await browser.newContext()
    const page = await person.newPage()
    const title = page.getByRole("heading")
    await page.goto(`${url}a/?b=c`)
    expect(await title.textContent()).toBe("Sign in")
    await signIn(page)
    // The sign-in continues to the requested path.
    await page.waitForURL(`${url}a/?b=c`)
    expect(await title.textContent()).toBe("Deep")

    await publish(key, { "site/index.html": "<h1>Two</h1>" })
    await page.goto(url)
    expect(await title.textContent()).toBe("Two")

    const app = siteCompanyFile("acme", { start: "node server.js", health: "/well" })
    await publish(key, { "company.json": app, "server.js": SERVER })
    await page.reload()
    expect(await title.textContent()).toBe("Visit 1")
    await page.getByText("connected").waitFor()
    await page.reload()
    expect(await title.textContent()).toBe("Visit 2")

    // Neither the preview's cookie nor its scripts reach the API; another browser sees only the sign-in page.
    const cookies = await person.cookies(server.url)
    expect(cookies).toEqual([])
    const reads = (address: string) =>
      page.evaluate((to) => fetch(to, { credentials: "include" }).then(String, String), address)
    expect(await reads(`${server.url}${PUBLISHES_PATH}`)).toContain("TypeError")
    const stranger = await browser.newPage()
    await stranger.goto(url)
    expect(await stranger.getByRole("heading").textContent()).toBe("Sign in")
  },
)
