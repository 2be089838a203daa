/**
 * `kill -9` at each step of a publish, in a real process: the next process makes it live once for its price, or
 * refunds the charge if it was never queued.
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
 * The steps in order (the charge, the queue, the build's start, the build, its end, the artifact, the app's start,
 * live, the settled charge), and whether the publish is live in the end.
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
/** Every third step; all of them with `LEDGER_DEEP=1`. */
const STEPS = isDeepRun ? ALL : ALL.filter((_, i) => i % 3 === 0)

const workspace = await openGitWorkspace()
afterAll(workspace.clear)
const turns = await openCrashTestDatabase({
  CODE_DIR: join(workspace.path, "code"),
  RATE_LIMITS: "off",
})
await makeCallsFree(turns.world())

it.each(STEPS)("a publish that dies at %s is live once: %s", async (step, isLive) => {
  const company = await makePublishingCompany({ world: turns.world(), folder: workspace.path })
  const app = siteCompanyFile(company.name, { start: "serve" })
  const commit = await commitAndImport(turns.world(), company, { "company.json": app })
  await turns.world().operate("wait")
  const world = await turns.crashAt(step, async (server) => {
    // The answer may be lost.
    const url = `${PUBLISHES_PATH}/preview`
    await server.call(company.key, "POST", url, { body: { commit } }).catch(() => undefined)
  })
  await world.operate("clock advance", { duration: "20m" })
  await world.operate("wait")
  const { publishes } = await world.operate("publish list", { company: company.companyId })
  const statuses = publishes.map(({ status }: { status: string }) => status)
  expect(statuses).toEqual(isLive ? ["live"] : [])
  expect(await spentMicrosOf(world, company)).toBe(isLive ? PUBLISH_MICROS : 0)
  // The next publish is not blocked.
  await publishAndWait(world, company, commit)
  expect(await spentMicrosOf(world, company)).toBe(isLive ? 2 * PUBLISH_MICROS : PUBLISH_MICROS)
})

it("the audit finds no violation after all crashes", async () => {
  expect((await turns.world().operate("audit verify")).ok).toBe(true)
})
