/**
 * `kill -9` at each line around a start, in a real process: whoever comes next ends the first minute
 * once, keeps no slot, and charges nothing beyond what was seen to live. Its boxes died with it: another
 * process has no way to their machines.
 */
import { afterAll, beforeAll, expect, it } from "vitest"
import type { CodeWorld } from "../code/code-world.ts"
import { isDeep } from "../charging/runs.ts"
import { collect } from "../contracts/event-store-fixture.ts"
import type { TestDatabase } from "../support/postgres.ts"
import { worldDatabase } from "../support/world-database.ts"
import type { Place } from "../support/server-process.ts"
import { makePlace } from "../support/server-process.ts"
import type { Company, World } from "../support/world.ts"
import { advance, openWorld, spentOf } from "../support/world.ts"
import { BOXES, PRICES, makeBoxCompany, openBoxWorld, running } from "./boxes-world.ts"
import { reckon } from "./minute-law.ts"

let database: TestDatabase
let one: CodeWorld
const companies: Company[] = []
const places: Place[] = []

/**
 * The lines, in their order: the slot, the charge, the start, the machine, running, and the end of the
 * first minute; and how many minutes it then comes to. One that was not made is made elsewhere.
 */
const ALL = [
  ["append.after=1", 0],
  ["append.after=2", 0],
  ["append.after=3", 3],
  ["provider.before=1", 3],
  ["provider.after=1", 3],
  ["append.after=4", 1],
  ["append.after=5", 1],
] as const
/** Every second one where there is little time: `LEDGER_DEEP=1` dies at all. */
const LINES = isDeep ? ALL : ALL.filter((_, i) => i % 2 === 1)

beforeAll(async () => {
  database = await worldDatabase()
  one = await openBoxWorld({ url: database.url })
  while (companies.length < LINES.length) companies.push(await makeBoxCompany(one))
})
afterAll(async () => {
  for (const place of places) await place.clear()
  await one.close()
  await database.drop()
})

/** Everything that was ever stored of a company's boxes and money. */
async function factsOf({ ports }: World, { companyId }: Company) {
  const prefixes = ["box", "boxes", "ledger"].map((category) => `${category}-${companyId}`)
  const events = await collect(ports.store.readAll({ prefixes }))
  return events.map(ports.streams.recorded)
}

/** Starts a box at a server that dies of it; the answer is lost, or there before. */
async function dieAt(line: string, { key }: Company): Promise<void> {
  const place = await makePlace({
    DATABASE_URL: database.url,
    LEDGER_CLOCK: "test",
    NODE_ENV: "test",
    BOX_HOST: "simulator",
    CODE_DIR: one.codeDir,
    LEDGER_FAILPOINTS: line,
  })
  places.push(place)
  const server = await place.start()
  const body = { size: "small", maxMinutes: 3 }
  await server.call(key, "POST", BOXES, { body }).catch(() => undefined)
  expect(await server.ended).toBeNull()
}

it("a start dies at every line, and each minute is charged as it began", async () => {
  const { settings, url } = { settings: { CODE_DIR: one.codeDir }, url: database.url }
  for (const [i, [line, minutes]] of LINES.entries()) {
    const company = companies[i] as Company
    // While a server is tried nobody else may do its work.
    await one.world.close()
    await dieAt(line, company)
    const world = await openWorld("start", { url, settings, rateLimits: "off" })
    one = { ...one, world }
    await advance(world, "20m")
    await world.operate("wait")
    const facts = await factsOf(world, company)
    const { wrong } = reckon(facts, true)
    expect(wrong, line).toEqual([])
    expect(await spentOf(world, company), line).toBe(minutes * PRICES.small)
    // Nothing of it is in the way of the next ones: the plan has two.
    await running(world, company)
    await running(world, company)
  }
}, 300_000)
