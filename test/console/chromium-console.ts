/** The console in a real browser: one installation and one browser for all test files of a worker process. */
import type { AddressInfo } from "node:net"
import type { Browser, Page } from "playwright-core"
import { afterAll, beforeEach, expect } from "vitest"
import { buildConsoleIfNeeded } from "../../bin/console.mjs"
import type { CompanyId, PersonId } from "../../domain/kernel/ids.ts"
import { OperatorRefused } from "../../src/frame/operator/operation.ts"
import { noChromiumReason, openChromium } from "../publishing/chromium.ts"
import {
  addPerson,
  makeCompany,
  makeKey,
  openWorld,
  setLimit,
  type World,
} from "../support/world.ts"
import { newPage, untilPageSettles } from "./page-checks.ts"

/** A company at an installation that listens, and a browser. */
interface ConsoleFixture {
  readonly world: World
  readonly url: string
  readonly browser: Browser
  /** The company's name. */
  readonly company: string
  readonly companyId: CompanyId
  readonly ownerId: PersonId
  /** The owner's. */
  readonly email: string
}

/** The same, with a page on which the owner is signed in. */
interface OpenedConsole extends ConsoleFixture {
  readonly ownerPage: Page
}

let running: Promise<Pick<ConsoleFixture, "world" | "url" | "browser">> | undefined
let companies = 0

/** Builds the pages where that is needed. It all ends with the process; each page has a profile of its own. */
async function openBrowserWorld(): Promise<Pick<ConsoleFixture, "world" | "url" | "browser">> {
  const code = await buildConsoleIfNeeded()
  if (code !== 0) throw new Error(`the console's pages cannot be built: ${code}`)
  const [world, browser] = await Promise.all([
    openWorld("time", { clock: "system" }),
    openChromium(),
  ])
  await world.app.listen({ port: 0, host: "127.0.0.1" })
  const { port } = world.app.server.address() as AddressInfo
  return { world, url: `http://127.0.0.1:${port}`, browser }
}

/**
 * Opens the console for the calling test file, with a company like the demo's. Call it at the top level of the file.
 * The file's tests are skipped where there is no browser.
 *
 * @param prepare what is done before the owner signs in
 */
export async function openConsole(
  prepare: (place: ConsoleFixture) => Promise<unknown> = async () => undefined,
): Promise<OpenedConsole> {
  beforeEach((ctx) => ctx.skip(noChromiumReason !== null, String(noChromiumReason)))
  // No test of the file reads it then.
  if (noChromiumReason !== null) return {} as OpenedConsole
  running ??= openBrowserWorld()
  const place = { ...(await running), ...(await makeDemo((await running).world)) }
  await prepare(place)
  afterAll(() => Promise.all(place.browser.contexts().map((context) => context.close())))
  return { ...place, ownerPage: await openSignedInPage(place) }
}

/** Makes a company with the demo's card, limits and key. */
async function makeDemo(world: World) {
  companies += 1
  const company = `acme-${companies}`
  const email = `ada@${company}.example`
  const made = await makeCompany(world, {
    name: company,
    ownerName: "Ada Example",
    ownerEmail: email,
    key: { label: "demo", addFundsPerPurchase: "50", addFundsPerMonth: "200" },
    limits: [{ dollars: "40" }],
  })
  const { companyId, ownerId, keyId } = made
  await setLimit(world, made, { person: ownerId, period: "week", dollars: "20" })
  await setLimit(world, made, { key: keyId, period: "day", dollars: "5" })
  return { company, companyId, ownerId, email }
}

/** Adds a person to the company as an operator does; answers their id. */
export async function addConsolePerson(
  place: ConsoleFixture,
  name: string,
  role: string,
  permissions: readonly string[] = [],
): Promise<PersonId> {
  const email = `${name.toLowerCase()}@${place.company}.example`
  return (await addPerson(place.world, place, { name, email, role, permissions })).personId
}

/** A page on which a person is signed in by an operator's link. */
export async function openSignedInPage(
  place: ConsoleFixture,
  person: string = place.ownerId,
): Promise<Page> {
  const { url } = await place.world.operate("console link", { person })
  const page = await newPage(place.browser)
  await page.goto(`${place.url}${new URL(url).pathname}`)
  await untilPageSettles(page)
  return page
}

/** Spends at the company and has a charge refused, so that its pages have something to show. */
export async function createSpending(place: ConsoleFixture): Promise<void> {
  const { world, company, ownerId: person } = place
  const ai = { class: "ai", period: "week", dollars: "12", reminders: ["10"] }
  await setLimit(world, place, ai)
  const charge = (dollars: string) =>
    world.operate("charge", { company, class: "ai", person, item: "chat completion", dollars })
  for (const dollars of ["3.2", "2.75", "4.1"]) await charge(dollars)
  // It is more than is left: what is refused is shown too.
  const refused = await charge("5").catch((error: unknown) => error)
  if (!(refused instanceof OperatorRefused)) throw new Error("more was spent than may be")
}

/** Opens a dialog by its button. */
export async function openDialog(page: Page, button: string) {
  await page.getByRole("button", { name: button, exact: true }).click()
  const dialog = page.getByRole("dialog")
  await dialog.waitFor()
  return dialog
}

interface Mail {
  readonly mailId: string
  readonly to: string
  readonly subject: string
}

/** The codes that were mailed to an email, by their mails' ids. */
async function mailedCodes(
  { world }: ConsoleFixture,
  email: string,
): Promise<ReadonlyMap<string, string>> {
  const { mails } = await world.operate("mail list")
  const found = (mails as readonly Mail[]).filter(
    ({ to, subject }) => to.includes(email) && /^\d{6} /.test(subject),
  )
  return new Map(found.map(({ mailId, subject }) => [mailId, subject.slice(0, 6)]))
}

/** What somebody does who has an email: `ask` has the code mailed, and the answer is what was mailed then. */
export async function codeMailedAfter(
  opened: ConsoleFixture,
  email: string,
  ask: () => Promise<void>,
): Promise<string> {
  const before = await mailedCodes(opened, email)
  await ask()
  let code: string | undefined
  await expect
    .poll(async () => {
      const found = await mailedCodes(opened, email)
      code = [...found].find(([mailId]) => !before.has(mailId))?.[1]
      return code
    })
    .toMatch(/^\d{6}$/)
  return code ?? ""
}

/** A browser of their own, in which somebody signed in by the code that was mailed to them; who is invited may name themselves. */
export async function signInByCode(
  opened: ConsoleFixture,
  email: string,
  name = "",
): Promise<Page> {
  const page = await newPage(opened.browser)
  await page.goto(`${opened.url}/console`)
  const code = await codeMailedAfter(opened, email, async () => {
    await page.getByLabel("Email").fill(email)
    await page.getByRole("button", { name: "Email me a code" }).click()
    await page.getByRole("heading", { name: "Enter the code" }).waitFor()
  })
  await page.getByLabel("Digit of the code").first().click()
  await page.keyboard.type(code)
  await page.getByLabel(/^Your name/).fill(name)
  await page.getByRole("button", { name: "Sign in" }).click()
  await page.getByRole("heading", { name: "Overview" }).waitFor()
  await untilPageSettles(page)
  return page
}

/** Whom the company texts. */
const CUSTOMER = "+14155550123"

/** Who texted STOP. */
const STOPPED = "+14155550199"

/** Calls the API with a new key of the owner's; answers the body. @throws where it is refused */
export async function ownerCallerOf(place: ConsoleFixture) {
  const { key } = await makeKey(place.world, place)
  return async (method: "GET" | "POST" | "PUT", path: string, body?: object) => {
    const answer = await place.world.call(key, method, `/api/v1${path}`, { body })
    if (answer.status >= 400) throw new Error(`${path}: ${JSON.stringify(answer.body)}`)
    return answer.body
  }
}

type OwnerCaller = Awaited<ReturnType<typeof ownerCallerOf>>

/** Texts in both directions, one that failed, an opt-out of either kind, and calls with a message. */
export async function createPhoneActivity(
  { world }: ConsoleFixture,
  ask: OwnerCaller,
): Promise<void> {
  const { numbers } = await ask("GET", "/phone/state")
  const number = numbers[0]?.number ?? ""
  const send = (to: string, body: string) => ask("POST", "/phone/messages", { to, body })
  await send(CUSTOMER, "Your order is ready for pick-up.")
  const failing = await send(STOPPED, "We open at 7 tomorrow.")
  await world.operate("wait")
  const failed = { messageId: failing.id, status: "failed", code: "30003" }
  await world.operate("carrier deliver", failed)
  const textIn = (from: string, body: string) =>
    world.operate("carrier text-in", { from, to: number, body })
  await textIn(CUSTOMER, "Thanks! I will come at five. <b>Ada</b>")
  await textIn(STOPPED, "STOP")
  await ask("POST", "/phone/opt-outs", { phone: "+14155550177" })
  const call = { from: CUSTOMER, to: number }
  await world.operate("carrier call-in", { ...call, outcome: "voicemail", seconds: "40" })
  await world.operate("carrier call-in", { ...call, outcome: "missed" })
  await world.operate("wait")
}

/** A connected domain, a mail from it, and somebody who must not be written to. */
export async function createMailActivity(
  { world }: ConsoleFixture,
  ask: OwnerCaller,
): Promise<void> {
  const { id } = await ask("POST", "/domain", { domain: "acme.example" })
  await ask("POST", "/domain", { check: true, domainId: id })
  await world.operate("wait")
  const sender = { action: "add", domainId: id, domain: "acme.example" }
  const added = await ask("POST", "/email/domains", sender)
  await world.operate("wait")
  await ask("POST", "/email/domains", { action: "check", id: added.id })
  const mail = { from: "Acme <hello@acme.example>", subject: "Your order", text: "It is ready." }
  await ask("POST", "/email/send", { ...mail, to: ["grace@example.com", "joan@example.com"] })
  await world.operate("simulator set", { name: "mail", outcome: "bounce", times: 1 })
  await ask("POST", "/email/send", { ...mail, to: "gone@example.com" })
  await world.operate("wait")
}

/** A form, and what came by it. */
export async function createLeadActivity({ world, company }: ConsoleFixture): Promise<void> {
  const { formId: form } = await world.operate("form add", { company, name: "Contact us" })
  await world.operate("lead add", {
    company,
    form,
    firstName: "Ada",
    lastName: "Lane",
    email: "ada.lane@example.com",
    message: "A cake for <script>alert(1)</script> twelve, please.\nOn Friday.",
    fields: ["budget=200", "pageUrl=javascript:alert(1)", "utm_source=newsletter"],
  })
  await world.operate("lead add", { company, form, firstName: "Grace", phone: "+1 415 555 0188" })
}
