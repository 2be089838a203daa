/**
 * The process ends at a failpoint while callers wait. Another process takes over its stores, the callers
 * retry requests with an unknown outcome, and all charges are exact.
 */
import { afterAll, beforeAll, expect, it, onTestFinished } from "vitest"
import type { Failpoint } from "../../adapters/machine/failpoints/failpoints.ts"
import { FAILPOINTS } from "../../adapters/machine/failpoints/failpoints.ts"
import type { ServerDataFolder } from "../support/server-process.ts"
import { makeDataFolder } from "../support/server-process.ts"
import type { TestDatabase } from "../support/test-database.ts"
import { worldDatabase } from "../support/world-database.ts"
import { openWorld } from "../support/world.ts"
import {
  newSeededNumbers,
  newTextKeys,
  senderOverHttp,
  roundCount,
  senderThroughCaller,
  startTextLoad,
} from "./text-load.ts"
import type { Company } from "../support/company.ts"
import { makeSender, expectSoundLedger } from "./charge-audit.ts"

const ROUNDS = roundCount(1, 20)
const TEXTS = 40
const { seed, between } = newSeededNumbers()

/** How often the texts of a round reach each failpoint at least. */
const MIN_ARRIVALS: Readonly<Record<Failpoint, number>> = {
  "append.before": 12,
  "append.after": 12,
  "answers.between": TEXTS - 12,
  "projection.inside": 15,
  "provider.before": TEXTS - 12,
  "provider.after": TEXTS - 12,
}

let database: TestDatabase
let sender: Company
const acknowledged = new Map<string, string>()
const folders: ServerDataFolder[] = []

beforeAll(async () => {
  database = await worldDatabase()
  const world = await openWorld("start", { url: database.url })
  sender = await makeSender(world)
  await world.close()
})
afterAll(async () => {
  for (const folder of folders) await folder.removeFiles()
  await database.drop()
})

const cases = Array.from({ length: ROUNDS }, () =>
  FAILPOINTS.map((name) => ({ name, arrival: between(1, MIN_ARRIVALS[name]) })),
).flat()

it.each(cases)(
  `charges exactly after the process ended at $name, arrival $arrival (seed ${seed})`,
  async ({ name, arrival }) => {
    const folder = await makeDataFolder({
      DATABASE_URL: database.url,
      LEDGER_CLOCK: "test",
      RATE_LIMITS: "off",
      NODE_ENV: "test",
      LEDGER_FAILPOINTS: `${name}=${arrival}`,
    })
    folders.push(folder)
    const names = newTextKeys(TEXTS)
    const server = await folder.start()
    let isOver = false
    const ended = server.ended.then((code) => {
      isOver = true
      return code
    })
    const load = startTextLoad(
      names,
      senderOverHttp(() => server.url, sender.key),
      () => isOver,
    )
    // Null: the failpoint ended it by a signal.
    expect(await ended).toBe(null)
    await load.done
    const before = new Map(load.acknowledged)
    if (name === "answers.between") expect(before.size).toBeGreaterThan(0)

    const world = await openWorld("start", { url: database.url })
    // Also closed if the test fails; otherwise it would run the next process's jobs.
    onTestFinished(() => world.close())
    const again = startTextLoad(names, senderThroughCaller(world.call, sender.key))
    await again.done
    for (const [text, id] of again.acknowledged) acknowledged.set(text, id)
    for (const [text, id] of before) expect(acknowledged.get(text)).toBe(id)
    await world.operate("clock advance", { duration: "2h" })
    await world.operate("wait")
    await expectSoundLedger(world, { ...sender, acknowledged }, true)
  },
  180_000,
)
