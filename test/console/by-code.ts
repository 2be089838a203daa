/** Signing in on the page by a mailed code, as anybody does. */
import type { Page } from "playwright-core"
import { expect } from "vitest"
import type { Opened } from "./in-chromium.ts"
import { WAITS_MS } from "./in-chromium.ts"

interface Mail {
  readonly mailId: string
  readonly to: readonly string[]
  readonly subject: string
}

/** The codes that were mailed to an email, by their mails' ids. */
async function codesTo({ place }: Opened, email: string): Promise<ReadonlyMap<string, string>> {
  const { mails } = await place.ledger("mail", "list")
  const found = (mails as readonly Mail[]).filter(
    ({ to, subject }) => to.includes(email) && /^\d{6} /.test(subject),
  )
  return new Map(found.map(({ mailId, subject }) => [mailId, subject.slice(0, 6)]))
}

/** A browser of their own, in which somebody signed in by the code that was mailed to them. */
export async function signedInByCode(opened: Opened, email: string): Promise<Page> {
  const context = await opened.browser.newContext({ viewport: { width: 1440, height: 900 } })
  context.setDefaultTimeout(WAITS_MS)
  const page = await context.newPage()
  const before = await codesTo(opened, email)
  await page.goto(`${opened.server.url}/console`)
  await page.getByLabel("Email").fill(email)
  await page.getByRole("button", { name: "Mail me a code" }).click()
  await page.getByRole("heading", { name: "Enter the code" }).waitFor()
  let code: string | undefined
  await expect
    .poll(async () => {
      const found = await codesTo(opened, email)
      code = [...found].find(([mailId]) => !before.has(mailId))?.[1]
      return code
    })
    .toMatch(/^\d{6}$/)
  await page.getByLabel("Digit of the code").first().click()
  await page.keyboard.type(code ?? "")
  await page.getByRole("button", { name: "Sign in" }).click()
  await page.getByRole("heading", { name: "Overview" }).waitFor()
  return page
}
