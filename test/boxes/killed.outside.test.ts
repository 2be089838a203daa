/**
 * `kill -9` at each step of a start, in a real process: the next process settles the first minute once, frees the
 * slot, and charges no minute in which the box was not seen alive. The boxes die with their process.
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
 * The steps in order (the slot, the charge, the start, the machine, running, the end of the first minute), and how
 * many minutes are charged. The next process makes a machine that was not made.
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
/** Every second step; all of them with `LEDGER_DEEP=1`. */
const STEPS = isDeepRun ? ALL : ALL.filter((_, i) => i % 2 === 1)

const workspace = await openGitWorkspace()
afterAll(workspace.clear)
const turns = await openCrashTestDatabase({ CODE_DIR: join(workspace.path, "code") })
await makeCallsFree(turns.world())

async function factsOf({ ports }: World, { companyId }: Company) {
  const prefixes = ["box", "boxes", "ledger"].map((category) => `${category}-${companyId}`)
  const events = await collectEvents(ports.store.readAll({ prefixes }))
  return events.map(ports.streams.toRecorded)
}

it.each(STEPS)("a start that dies at %s is charged %i minutes", async (step, minutes) => {
  const company = await makeBoxCompany({ world: turns.world(), folder: workspace.path })
  await turns.world().operate("wait")
  const world = await turns.crashAt(step, async (server) => {
    // The answer may be lost.
    const body = { size: "small", maxMinutes: 3 }
    await server.call(company.key, "POST", BOXES_PATH, { body }).catch(() => undefined)
  })
  await advance(world, "20m")
  await world.operate("wait")
  const { violations } = auditMinutes(await factsOf(world, company), true)
  expect(violations).toEqual([])
  expect(await spentMicrosOf(world, company)).toBe(minutes * BOX_MINUTE_PRICES.small)
  // Its slot is free again: the plan has two.
  await startBoxAndWait(world, company)
  await startBoxAndWait(world, company)
})
