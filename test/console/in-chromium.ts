/** The console in a real browser: one installation and one browser for all test files of a worker process. */
import type { AddressInfo } from "node:net"
import type { Browser, Page } from "playwright-core"
import { afterAll, beforeEach } from "vitest"
import { buildConsoleIfNeeded } from "../../bin/console.mjs"
import type { CompanyId, PersonId } from "../../domain/kernel/ids.ts"
import { OperatorRefused } from "../../src/frame/operator/operation.ts"
import { noBrowser, openBrowser } from "../publishing/browser.ts"
import type { World } from "../support/world.ts"
import { openWorld } from "../support/world.ts"
import { newPage, settled } from "./visiting.ts"

/** A company at an installation that listens, and a browser. */
export interface Place {
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
export interface Opened extends Place {
  readonly owner: Page
}

let running: Promise<Pick<Place, "world" | "url" | "browser">> | undefined
let companies = 0

/** Builds the pages where that is needed. It all ends with the process; each page has a profile of its own. */
async function run(): Promise<Pick<Place, "world" | "url" | "browser">> {
  const code = await buildConsoleIfNeeded()
  if (code !== 0) throw new Error(`the console's pages cannot be built: ${code}`)
  const [world, browser] = await Promise.all([
    openWorld("time", { clock: "system" }),
    openBrowser(),
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
  prepare: (place: Place) => Promise<unknown> = async () => undefined,
): Promise<Opened> {
  beforeEach((ctx) => ctx.skip(noBrowser !== null, String(noBrowser)))
  // No test of the file reads it then.
  if (noBrowser !== null) return {} as Opened
  running ??= run()
  const place = { ...(await running), ...(await makeDemo((await running).world)) }
  await prepare(place)
  afterAll(() => Promise.all(place.browser.contexts().map((context) => context.close())))
  return { ...place, owner: await signedInPage(place) }
}

/** Makes a company with the demo's card, limits and key. */
async function makeDemo(world: World) {
  companies += 1
  const company = `acme-${companies}`
  const email = `ada@${company}.example`
  const { companyId, ownerId } = await world.operate("company create", {
    name: company,
    funds: "50",
    ownerName: "Ada Example",
    ownerEmail: email,
  })
  await world.operate("card set", { company, verified: true })
  const general = { company, class: "general" }
  await world.operate("limit set", { ...general, period: "month", dollars: "40" })
  await world.operate("limit set", { ...general, person: ownerId, period: "week", dollars: "20" })
  const { keyId } = await world.operate("key create", {
    company,
    person: ownerId,
    allOperations: true,
    label: "demo",
    addFundsPerPurchase: "50",
    addFundsPerMonth: "200",
  })
  await world.operate("limit set", { company, key: keyId, period: "day", dollars: "5" })
  return { company, companyId, ownerId, email }
}

/** Adds a person to the company as an operator does; answers their id. */
export async function addPerson(
  { world, company }: Place,
  name: string,
  role: string,
  permissions: readonly string[] = [],
): Promise<string> {
  const email = `${name.toLowerCase()}@${company}.example`
  const whose = { company, name, email, role, permissions }
  return (await world.operate("person add", whose)).personId
}

/** A page on which a person is signed in by an operator's link. */
export async function signedInPage(place: Place, person: string = place.ownerId): Promise<Page> {
  const { url } = await place.world.operate("console link", { person })
  const page = await newPage(place.browser)
  await page.goto(`${place.url}${new URL(url).pathname}`)
  await settled(page)
  return page
}

/** Spends at the company and has a charge refused, so that its pages have something to show. */
export async function spendSomething({ world, company, ownerId: person }: Place): Promise<void> {
  const ai = { company, class: "ai" }
  await world.operate("limit set", { ...ai, period: "week", dollars: "12", reminders: ["10"] })
  const charge = (dollars: string) =>
    world.operate("charge", { ...ai, person, item: "chat completion", dollars })
  for (const dollars of ["3.2", "2.75", "4.1"]) await charge(dollars)
  // It is more than is left: what is refused is shown too.
  const refused = await charge("5").catch((error: unknown) => error)
  if (!(refused instanceof OperatorRefused)) throw new Error("more was spent than may be")
}

/** Opens a dialog by its button. */
export async function dialogOf(page: Page, button: string) {
  await page.getByRole("button", { name: button, exact: true }).click()
  const dialog = page.getByRole("dialog")
  await dialog.waitFor()
  return dialog
}
