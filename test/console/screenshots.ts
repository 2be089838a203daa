/**
 * Takes screenshots of the console with the demo's data. `npm run console:pictures -- FOLDER` takes every page in each
 * view mode; `npm run console:pictures -- --docs` takes those of docs/console.md and updates its section.
 */
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import type { Page } from "playwright-core"
import { buildConsoleIfNeeded } from "../../bin/console.mjs"
import { openChromium } from "../publishing/chromium.ts"
import { makeDataFolder } from "../support/server-process.ts"
import {
  type ViewMode,
  VIEW_MODES,
  pageAddressesOf,
  setViewMode,
  newPage,
  untilPageSettles,
  openAndSettle,
} from "./page-checks.ts"

const DOCUMENT = resolve(import.meta.dirname, "../../docs/console.md")
const SHOWN = resolve(import.meta.dirname, "../../docs/console")
/** View modes in addition to the wide and light one, by page. */
const EXTRA_VIEW_MODES: Readonly<Record<string, readonly ViewMode[]>> = {
  overview: [VIEW_MODES[1], VIEW_MODES[2]],
  refusals: [VIEW_MODES[1], VIEW_MODES[2]],
}
/** Maximum size of one picture and of all pictures, in bytes. */
const MAX_BYTES = 120_000
const MAX_TOTAL_BYTES = 2_000_000
const HEADING = "## Screenshots"

/** The file name of a page. A detail page is named after its list, because ids differ between runs. */
function nameOf(address: string): string {
  const { pathname, searchParams } = new URL(address, "http://page")
  const [, , , name = "overview", thing] = pathname.split("/")
  const tab = searchParams.get("tab")
  const isOne = thing !== undefined || (tab === null && searchParams.size > 0)
  return `${name}${tab === null ? "" : `-${tab}`}${isOne ? "-one" : ""}`
}

async function openAddress(page: Page, address: string, viewMode: ViewMode): Promise<void> {
  await setViewMode(page, viewMode)
  await openAndSettle(page, address)
}

/** Takes every page in each view mode. */
async function captureAllPages(page: Page, folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true })
  for (const address of await pageAddressesOf(page)) {
    for (const viewMode of VIEW_MODES) {
      await openAddress(page, address, viewMode)
      const file = `${nameOf(address)}-${viewMode.width}-${viewMode.scheme}.png`
      await page.screenshot({ path: join(folder, file), fullPage: true })
    }
  }
  process.stdout.write(`The pictures are in ${folder}.\n`)
}

/** Takes a WebP picture of at most `MAX_BYTES`; returns its size. */
async function captureSmallPicture(page: Page, file: string): Promise<number> {
  const devtools = await page.context().newCDPSession(page)
  for (const quality of [80, 60, 40]) {
    const { data } = await devtools.send("Page.captureScreenshot", { format: "webp", quality })
    writeFileSync(join(SHOWN, file), Buffer.from(data, "base64"))
    if (statSync(join(SHOWN, file)).size <= MAX_BYTES) break
  }
  await devtools.detach()
  const { size } = statSync(join(SHOWN, file))
  if (size > MAX_BYTES) throw new Error(`${file} has ${size} bytes; the limit is ${MAX_BYTES}`)
  return size
}

/** Takes the pages of the navigation, and writes their section of the document. */
async function captureForDocument(page: Page): Promise<void> {
  rmSync(SHOWN, { recursive: true, force: true })
  mkdirSync(SHOWN, { recursive: true })
  const lines: string[] = []
  let bytes = 0
  const navigation = (await pageAddressesOf(page)).filter((one) => !nameOf(one).endsWith("-one"))
  for (const address of navigation) {
    const name = nameOf(address)
    for (const viewMode of [VIEW_MODES[0], ...(EXTRA_VIEW_MODES[name] ?? [])]) {
      await openAddress(page, address, viewMode)
      const title = await page.getByRole("heading", { level: 1 }).innerText()
      const words = [viewMode.width < 600 ? "narrow" : "", viewMode.scheme === "dark" ? "dark" : ""]
      const suffix = words.filter((word) => word !== "")
      const file = [name, ...suffix].join("-") + ".webp"
      bytes += await captureSmallPicture(page, file)
      const tab = name.split("-").slice(1).join(" ")
      const titled = [title, tab, suffix.join(" and ")].filter((word) => word !== "").join(", ")
      lines.push(`${titled}:`, "", `![${titled}](console/${file})`, "")
    }
  }
  if (bytes > MAX_TOTAL_BYTES)
    throw new Error(`the pictures have ${bytes} bytes; the limit is ${MAX_TOTAL_BYTES}`)
  const [before = ""] = readFileSync(DOCUMENT, "utf8").split(`\n${HEADING}\n`)
  const says =
    "The pictures show the demo's week. `npm run console:pictures -- --docs` takes them again."
  const section = [HEADING, "", says, "", ...lines].join("\n")
  writeFileSync(DOCUMENT, `${before.trimEnd()}\n\n${section.trimEnd()}\n`)
  process.stdout.write(`${lines.length / 4} pictures, ${bytes} bytes, are in ${SHOWN}.\n`)
}

const [, , folder = "reports/console"] = process.argv
const code = await buildConsoleIfNeeded()
if (code !== 0) throw new Error(`the console's pages cannot be built: ${code}`)
const installation = await makeDataFolder()
const browser = await openChromium()
try {
  await installation.start("--demo")
  const { people } = await installation.runCommand("person", "list", "--company", "acme")
  const { url } = await installation.runCommand("console", "link", "--person", people[0].personId)
  const page = await newPage(browser)
  await page.goto(url)
  await untilPageSettles(page)
  await (folder === "--docs" ? captureForDocument(page) : captureAllPages(page, folder))
} finally {
  await browser.close()
  await installation.removeFiles()
}
