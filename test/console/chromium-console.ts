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

/** A company of an installation that listens on a port, and a browser. */
interface ConsoleFixture {
  readonly world: World
  readonly url: string
  readonly browser: Browser
  /** The company's name. */
  readonly company: string
  readonly companyId: CompanyId
  readonly ownerId: PersonId
  /** The owner's email. */
  readonly email: string
}

/** The same, with a page on which the owner is signed in. */
interface OpenedConsole extends ConsoleFixture {
  readonly ownerPage: Page
}

let running: Promise<Pick<ConsoleFixture, "world" | "url" | "browser">> | undefined
let companies = 0

/** Builds the pages if needed, then starts the installation and the browser; both end with the process. */
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
 * Skips the file's tests if there is no browser.
 *
 * @param prepare runs before the owner signs in
 */
export async function openConsole(
  prepare: (fixture: ConsoleFixture) => Promise<unknown> = async () => undefined,
): Promise<OpenedConsole> {
  beforeEach((ctx) => ctx.skip(noChromiumReason !== null, String(noChromiumReason)))
  // The file's tests are all skipped, so none reads the fixture.
  if (noChromiumReason !== null) return {} as OpenedConsole
  running ??= openBrowserWorld()
  const fixture = { ...(await running), ...(await makeDemo((await running).world)) }
  await prepare(fixture)
  afterAll(() => Promise.all(fixture.browser.contexts().map((context) => context.close())))
  return { ...fixture, ownerPage: await openSignedInPage(fixture) }
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

/** Adds a person to the company as an operator does; returns their id. */
export async function addConsolePerson(
  fixture: ConsoleFixture,
  name: string,
  role: string,
  permissions: readonly string[] = [],
): Promise<PersonId> {
  const email = `${name.toLowerCase()}@${fixture.company}.example`
  return (await addPerson(fixture.world, fixture, { name, email, role, permissions })).personId
}

/** Opens a page on which a person is signed in by an operator's link. */
export async function openSignedInPage(
  fixture: ConsoleFixture,
  person: string = fixture.ownerId,
): Promise<Page> {
  const { url } = await fixture.world.operate("console link", { person })
  const page = await newPage(fixture.browser)
  await page.goto(`${fixture.url}${new URL(url).pathname}`)
  await untilPageSettles(page)
  return page
}

/** Makes charges and a refusal, so that the company's pages have something to show. */
export async function createSpending(fixture: ConsoleFixture): Promise<void> {
  const { world, company, ownerId: person } = fixture
  const ai = { class: "ai", period: "week", dollars: "12", reminders: ["10"] }
  await setLimit(world, fixture, ai)
  const charge = (dollars: string) =>
    world.operate("charge", { company, class: "ai", person, item: "chat completion", dollars })
  for (const dollars of ["3.2", "2.75", "4.1"]) await charge(dollars)
  // Exceeds the limit, so that the pages also show a refusal.
  const refused = await charge("5").catch((error: unknown) => error)
  if (!(refused instanceof OperatorRefused))
    throw new Error("a charge above the limit was accepted")
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

/** The codes mailed to an address, by mail id. */
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

/** Runs `requestCode`; returns the code that was mailed to the address because of it. */
export async function codeMailedAfter(
  fixture: ConsoleFixture,
  email: string,
  requestCode: () => Promise<void>,
): Promise<string> {
  const before = await mailedCodes(fixture, email)
  await requestCode()
  let code: string | undefined
  await expect
    .poll(async () => {
      const found = await mailedCodes(fixture, email)
      code = [...found].find(([mailId]) => !before.has(mailId))?.[1]
      return code
    })
    .toMatch(/^\d{6}$/)
  return code ?? ""
}

/** Signs a person in by a mailed code on a new page; `name` is what an invited person enters as their name. */
export async function signInByCode(
  fixture: ConsoleFixture,
  email: string,
  name = "",
): Promise<Page> {
  const page = await newPage(fixture.browser)
  await page.goto(`${fixture.url}/console`)
  const code = await codeMailedAfter(fixture, email, async () => {
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

/** A customer whom the company texts. */
const CUSTOMER = "+14155550123"

/** A customer who texts STOP. */
const OPTED_OUT_CUSTOMER = "+14155550199"

/** Returns a function that calls the API with a new key of the owner and returns the body. @throws if the call is rejected */
export async function ownerCallerOf(fixture: ConsoleFixture) {
  const { key } = await makeKey(fixture.world, fixture)
  return async (method: "GET" | "POST" | "PUT", path: string, body?: object) => {
    const answer = await fixture.world.call(key, method, `/api/v1${path}`, { body })
    if (answer.status >= 400) throw new Error(`${path}: ${JSON.stringify(answer.body)}`)
    return answer.body
  }
}

type OwnerCaller = Awaited<ReturnType<typeof ownerCallerOf>>

/** Makes texts in both directions, a failed text, an opt-out by text and one by the API, and calls with a voicemail. */
export async function createPhoneActivity(
  { world }: ConsoleFixture,
  callApi: OwnerCaller,
): Promise<void> {
  const { numbers } = await callApi("GET", "/phone/state")
  const number = numbers[0]?.number ?? ""
  const send = (to: string, body: string) => callApi("POST", "/phone/messages", { to, body })
  await send(CUSTOMER, "Your order is ready for pick-up.")
  const failing = await send(OPTED_OUT_CUSTOMER, "We open at 7 tomorrow.")
  await world.operate("wait")
  const failed = { messageId: failing.id, status: "failed", code: "30003" }
  await world.operate("carrier deliver", failed)
  const textIn = (from: string, body: string) =>
    world.operate("carrier text-in", { from, to: number, body })
  await textIn(CUSTOMER, "Thanks! I will come at five. <b>Ada</b>")
  await textIn(OPTED_OUT_CUSTOMER, "STOP")
  await callApi("POST", "/phone/opt-outs", { phone: "+14155550177" })
  const call = { from: CUSTOMER, to: number }
  await world.operate("carrier call-in", { ...call, outcome: "voicemail", seconds: "40" })
  await world.operate("carrier call-in", { ...call, outcome: "missed" })
  await world.operate("wait")
}

/** Connects a domain, sends mails from it, and gets one address suppressed by a bounce. */
export async function createMailActivity(
  { world }: ConsoleFixture,
  callApi: OwnerCaller,
): Promise<void> {
  const { id } = await callApi("POST", "/domain", { domain: "acme.example" })
  await callApi("POST", "/domain", { check: true, domainId: id })
  await world.operate("wait")
  const sender = { action: "add", domainId: id, domain: "acme.example" }
  const added = await callApi("POST", "/email/domains", sender)
  await world.operate("wait")
  await callApi("POST", "/email/domains", { action: "check", id: added.id })
  const mail = { from: "Acme <hello@acme.example>", subject: "Your order", text: "It is ready." }
  await callApi("POST", "/email/send", { ...mail, to: ["grace@example.com", "joan@example.com"] })
  await world.operate("simulator set", { name: "mail", outcome: "bounce", times: 1 })
  await callApi("POST", "/email/send", { ...mail, to: "gone@example.com" })
  await world.operate("wait")
}

/** Opens a form and adds leads to it. */
export async function createLeadActivity({ world, company }: ConsoleFixture): Promise<void> {
  const { formId: form } = await world.operate("form add", { company, name: "Contact us" })
  await world.operate("lead add", {
    company,
    form,
    firstName: "Ada",
    lastName: "Lovelace",
    email: "ada.lovelace@example.com",
    message: "A cake for <script>alert(1)</script> twelve, please.\nOn Friday.",
    fields: ["budget=200", "pageUrl=javascript:alert(1)", "utm_source=newsletter"],
  })
  await world.operate("lead add", { company, form, firstName: "Grace", phone: "+1 415 555 0188" })
}
