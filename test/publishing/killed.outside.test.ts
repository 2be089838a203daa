/**
 * `kill -9` at each line of a publish, in a real process: whoever comes next has it live once, for what it
 * costs, or gives the charge back where it was never queued.
 */
import { join } from "node:path"
import { afterAll, expect, it } from "vitest"
import { isDeepRun } from "../charging/property-runs.ts"
import { openGitWorkspace } from "../code/git.ts"
import { openCrashTestDatabase } from "../support/failpoint-crashes.ts"
import { makeCallsFree, spentMicrosOf } from "../support/world.ts"
import {
  PUBLISH_MICROS,
  PUBLISHES_PATH,
  siteCompanyFile,
  makePublishingCompany,
} from "./publish-world.ts"
import { publishAndWait, commitAndImport } from "./publish-world.ts"

/**
 * The lines, in their order: the charge, the queue, the build's begin, the build, its end, what was built,
 * the app's start, live, and the end of the charge; and whether it is live in the end.
 */
const ALL = [
  ["append.after=1", false],
  ["append.after=2", true],
  ["append.after=3", true],
  ["provider.before=1", true],
  ["append.after=4", true],
  ["provider.after=1", true],
  ["append.after=5", true],
  ["provider.before=2", true],
  ["provider.after=2", true],
  ["append.after=6", true],
  ["append.after=7", true],
] as const
/** Every third one where there is little time: `LEDGER_DEEP=1` dies at all. */
const LINES = isDeepRun ? ALL : ALL.filter((_, i) => i % 3 === 0)

const workspace = await openGitWorkspace()
afterAll(workspace.clear)
const turns = await openCrashTestDatabase({
  CODE_DIR: join(workspace.path, "code"),
  RATE_LIMITS: "off",
})
await makeCallsFree(turns.world())

it.each(LINES)("a publish that dies at %s is live once: %s", async (line, isLive) => {
  const company = await makePublishingCompany({ world: turns.world(), folder: workspace.path })
  const app = siteCompanyFile(company.name, { start: "serve" })
  const commit = await commitAndImport(turns.world(), company, { "company.json": app })
  await turns.world().operate("wait")
  const world = await turns.crashAt(line, async (server) => {
    // The answer is lost, or there before.
    const url = `${PUBLISHES_PATH}/preview`
    await server.call(company.key, "POST", url, { body: { commit } }).catch(() => undefined)
  })
  await world.operate("clock advance", { duration: "20m" })
  await world.operate("wait")
  const { publishes } = await world.operate("publish list", { company: company.companyId })
  const statuses = publishes.map(({ status }: { status: string }) => status)
  expect(statuses).toEqual(isLive ? ["live"] : [])
  expect(await spentMicrosOf(world, company)).toBe(isLive ? PUBLISH_MICROS : 0)
  // Nothing of it is in the way of the next one.
  await publishAndWait(world, company, commit)
  expect(await spentMicrosOf(world, company)).toBe(isLive ? 2 * PUBLISH_MICROS : PUBLISH_MICROS)
})

it("everything holds after all deaths", async () => {
  expect((await turns.world().operate("audit verify")).ok).toBe(true)
})
