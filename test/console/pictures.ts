/** Makes a picture of every page of the console in each look: `npm run console:pictures -- FOLDER`. */
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import {
  LOOKS,
  addressesOf,
  openConsole,
  signedInPage,
  spendSomething,
  visit,
} from "./in-chromium.ts"

const [, , folder = "reports/console"] = process.argv
mkdirSync(folder, { recursive: true })
const opened = await openConsole()
try {
  await spendSomething(opened)
  const page = await signedInPage(opened)
  for (const address of await addressesOf(page)) {
    // A thing's own page goes by its list's name: ids differ from run to run.
    const [, , , name = "overview", thing] = address.split("/")
    for (const { width, scheme } of LOOKS) {
      await page.setViewportSize({ width, height: 900 })
      await page.emulateMedia({ colorScheme: scheme })
      await visit(page, address)
      const file = `${name}${thing === undefined ? "" : "-one"}-${width}-${scheme}.png`
      await page.screenshot({ path: join(folder, file), fullPage: true })
    }
  }
  process.stdout.write(`The pictures are in ${folder}.\n`)
} finally {
  await opened.close()
}
