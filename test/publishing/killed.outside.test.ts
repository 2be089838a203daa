/**
 * `kill -9` at each line of a publish, in a real process: whoever comes next has it live once, for what it
 * costs, or gives the charge back where it was never queued.
 */
import { afterAll, beforeAll, expect, it } from "vitest"
import { isDeep } from "../charging/runs.ts"
import type { CodeWorld } from "../code/code-world.ts"
import type { TestDatabase } from "../support/postgres.ts"
import { worldDatabase } from "../support/world-database.ts"
import type { Place } from "../support/server-process.ts"
import { makePlace } from "../support/server-process.ts"
import { openWorld, spentOf } from "../support/world.ts"
import type { Publisher } from "./publish-world.ts"
import {
  DEPLOY,
  PUBLISHES,
  companyFile,
  makePublisher,
  openPublishWorld,
  published,
  push,
} from "./publish-world.ts"

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
const LINES = isDeep ? ALL : ALL.filter((_, i) => i % 3 === 0)

let database: TestDatabase
let one: CodeWorld
const publishers: { readonly company: Publisher; readonly commit: string }[] = []
const places: Place[] = []

beforeAll(async () => {
  database = await worldDatabase()
  one = await openPublishWorld({ url: database.url })
  while (publishers.length < LINES.length) {
    const company = await makePublisher(one)
    const app = companyFile(company.name, { start: "serve" })
    const commit = await push(one.world, company, { "company.json": app })
    publishers.push({ company, commit })
  }
}, 120_000)
afterAll(async () => {
  for (const place of places) await place.clear()
  await one.close()
  await database.drop()
})

/** Publishes at a server that dies of it; the answer is lost, or there before. */
async function dieAt(line: string, { key }: Publisher, commit: string): Promise<void> {
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
  const url = `${PUBLISHES}/preview`
  await server.call(key, "POST", url, { body: { commit } }).catch(() => undefined)
  expect(await server.ended).toBeNull()
}

it("a publish dies at every line, and is live once or was never queued", async () => {
  const settings = { CODE_DIR: one.codeDir }
  for (const [i, [line, isLive]] of LINES.entries()) {
    const { company, commit } = publishers[i] as (typeof publishers)[0]
    // While a server is tried nobody else may do its work.
    await one.world.close()
    await dieAt(line, company, commit)
    const world = await openWorld("start", { url: database.url, settings, rateLimits: "off" })
    one = { ...one, world }
    await world.operate("clock advance", { duration: "20m" })
    await world.operate("wait")
    const { publishes } = await world.operate("publish list", { company: company.companyId })
    const statuses = publishes.map(({ status }: { status: string }) => status)
    expect(statuses, line).toEqual(isLive ? ["live"] : [])
    expect(await spentOf(world, company), line).toBe(isLive ? DEPLOY : 0)
    // Nothing of it is in the way of the next one.
    await published(world, company, commit)
    expect(await spentOf(world, company), line).toBe(isLive ? 2 * DEPLOY : DEPLOY)
  }
  expect((await one.world.operate("audit verify")).ok).toBe(true)
}, 300_000)
