/** The console in a real browser, at an installation of its own with the demo's company. */
import type { AddressInfo } from "node:net"
import type { Browser, Page } from "playwright-core"
import { buildConsoleIfNeeded } from "../../bin/console.mjs"
import { makeDemo } from "../../src/compose/demo/acme.ts"
import { OperatorRefused } from "../../src/frame/operator/operation.ts"
import { openBrowser } from "../publishing/browser.ts"
import type { World, WorldOptions } from "../support/world.ts"
import { openWorld } from "../support/world.ts"
import { newPage, settled } from "./visiting.ts"

/** The demo's company, and whom it belongs to. */
export const [COMPANY, OWNER] = ["acme", "ada@example.com"] as const

/** An installation that listens, and a browser. */
export interface Opened {
  readonly world: World
  readonly url: string
  readonly browser: Browser
  readonly close: () => Promise<void>
}

let running: Promise<Browser> | null = null

/** One browser for the files that run in one process: it ends with that, and each page has a profile of its own. */
function sharedBrowser(): Promise<Browser> {
  running ??= openBrowser()
  return running
}

/** Builds the pages where that is needed, and opens an installation with the demo's company as it is new. */
export async function openConsole(settings: WorldOptions["settings"] = {}): Promise<Opened> {
  const code = await buildConsoleIfNeeded()
  if (code !== 0) throw new Error(`the console's pages cannot be built: ${code}`)
  const world = await openWorld("time", { clock: "system", settings })
  await world.app.listen({ port: 0, host: "127.0.0.1" })
  const { port } = world.app.server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  await makeDemo(world.ports, { url, program: "company-ledger", isPlayed: false })
  const browser = await sharedBrowser()
  const close = async () => {
    await Promise.all(browser.contexts().map((context) => context.close()))
    await world.close()
  }
  return { world, url, browser, close }
}

/** The demo's owner, by id. */
export async function ownerOf({ world }: Pick<Opened, "world">): Promise<string> {
  const { people } = await world.operate("person list", { company: COMPANY })
  return people[0].personId
}

/** Adds somebody to the company as an operator does; answers their id. */
export async function addPerson(
  { world }: Opened,
  name: string,
  role: string,
  permissions: readonly string[] = [],
): Promise<string> {
  const email = `${name.toLowerCase()}@example.com`
  const whose = { company: COMPANY, name, email, role, permissions }
  return (await world.operate("person add", whose)).personId
}

/** A page on which somebody is signed in, by a link of the operator's; the demo's owner where nobody is named. */
export async function signedInPage(opened: Opened, personId?: string): Promise<Page> {
  const person = personId ?? (await ownerOf(opened))
  const { url } = await opened.world.operate("console link", { person })
  const page = await newPage(opened.browser)
  await page.goto(`${opened.url}${new URL(url).pathname}`)
  await settled(page)
  return page
}

/** What is spent and refused at the company, so that its pages have something to show. */
export async function spendSomething({ world, ...opened }: Opened): Promise<void> {
  const person = await ownerOf({ world, ...opened })
  const ai = { company: COMPANY, class: "ai" }
  await world.operate("limit set", { ...ai, period: "week", dollars: "12", reminders: ["10"] })
  const charge = (dollars: string) =>
    world.operate("charge", { ...ai, person, item: "chat completion", dollars })
  for (const dollars of ["3.2", "2.75", "4.1"]) await charge(dollars)
  // It is more than is left: what is refused is shown too.
  const refused = await charge("5").catch((error: unknown) => error)
  if (!(refused instanceof OperatorRefused)) throw new Error("more was spent than may be")
}
