/**
 * `kill -9` at each line around a start, in a real process: whoever comes next ends the first minute
 * once, keeps no slot, and charges nothing beyond what was seen to live. Its boxes died with it: another
 * process has no way to their machines.
 */
import { join } from "node:path"
import { afterAll, expect, it } from "vitest"
import { isDeepRun } from "../charging/property-runs.ts"
import { openGitWorkspace } from "../code/git.ts"
import { collectEvents } from "../contracts/event-store-fixture.ts"
import { openCrashTestDatabase } from "../support/failpoint-crashes.ts"
import type { Company, World } from "../support/world.ts"
import { advance, makeCallsFree, spentMicrosOf } from "../support/world.ts"
import { BOXES_PATH, BOX_MINUTE_PRICES, makeBoxCompany, startBoxAndWait } from "./box-world.ts"
import { auditMinutes } from "./minute-audit.ts"

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
const LINES = isDeepRun ? ALL : ALL.filter((_, i) => i % 2 === 1)

const desk = await openGitWorkspace()
afterAll(desk.clear)
const turns = await openCrashTestDatabase({ CODE_DIR: join(desk.path, "code") })
await makeCallsFree(turns.world())

/** Everything that was ever stored of a company's boxes and money. */
async function factsOf({ ports }: World, { companyId }: Company) {
  const prefixes = ["box", "boxes", "ledger"].map((category) => `${category}-${companyId}`)
  const events = await collectEvents(ports.store.readAll({ prefixes }))
  return events.map(ports.streams.toRecorded)
}

it.each(LINES)("a start that dies at %s is charged %i minutes", async (line, minutes) => {
  const company = await makeBoxCompany({ world: turns.world(), folder: desk.path })
  await turns.world().operate("wait")
  const world = await turns.crashAt(line, async (server) => {
    // The answer is lost, or there before.
    const body = { size: "small", maxMinutes: 3 }
    await server.call(company.key, "POST", BOXES_PATH, { body }).catch(() => undefined)
  })
  await advance(world, "20m")
  await world.operate("wait")
  const { violations } = auditMinutes(await factsOf(world, company), true)
  expect(violations).toEqual([])
  expect(await spentMicrosOf(world, company)).toBe(minutes * BOX_MINUTE_PRICES.small)
  // Nothing of it is in the way of the next ones: the plan has two.
  await startBoxAndWait(world, company)
  await startBoxAndWait(world, company)
})
