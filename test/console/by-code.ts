/** Signing in on the page by a mailed code, as anybody does. */
import type { Page } from "playwright-core"
import { expect } from "vitest"
import type { Place } from "./in-chromium.ts"
import { newPage, settled } from "./visiting.ts"

interface Mail {
  readonly mailId: string
  readonly to: string
  readonly subject: string
}

/** The codes that were mailed to an email, by their mails' ids. */
async function codesTo({ world }: Place, email: string): Promise<ReadonlyMap<string, string>> {
  const { mails } = await world.operate("mail list")
  const found = (mails as readonly Mail[]).filter(
    ({ to, subject }) => to.includes(email) && /^\d{6} /.test(subject),
  )
  return new Map(found.map(({ mailId, subject }) => [mailId, subject.slice(0, 6)]))
}

/** What somebody does who has an email: `ask` has the code mailed, and the answer is what was mailed then. */
export async function codeOnceAsked(
  opened: Place,
  email: string,
  ask: () => Promise<void>,
): Promise<string> {
  const before = await codesTo(opened, email)
  await ask()
  let code: string | undefined
  await expect
    .poll(async () => {
      const found = await codesTo(opened, email)
      code = [...found].find(([mailId]) => !before.has(mailId))?.[1]
      return code
    })
    .toMatch(/^\d{6}$/)
  return code ?? ""
}

/** A browser of their own, in which somebody signed in by the code that was mailed to them; who is invited may name themselves. */
export async function signedInByCode(opened: Place, email: string, name = ""): Promise<Page> {
  const page = await newPage(opened.browser)
  await page.goto(`${opened.url}/console`)
  const code = await codeOnceAsked(opened, email, async () => {
    await page.getByLabel("Email").fill(email)
    await page.getByRole("button", { name: "Mail me a code" }).click()
    await page.getByRole("heading", { name: "Enter the code" }).waitFor()
  })
  await page.getByLabel("Digit of the code").first().click()
  await page.keyboard.type(code)
  await page.getByLabel(/^What you are called/).fill(name)
  await page.getByRole("button", { name: "Sign in" }).click()
  await page.getByRole("heading", { name: "Overview" }).waitFor()
  await settled(page)
  return page
}
