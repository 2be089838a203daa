/** The API is killed under load, again and again; callers repeat what they do not know. */
import { expect, it } from "vitest"
import { ownPlace } from "../support/server-process.ts"
import { ownDatabase } from "../support/world-database.ts"
import { BACK_WITHIN_MS, newNames, overHttp, startLoad } from "./callers.ts"
import { makeSender } from "./company.ts"
import { reckon } from "./reckoning.ts"
import { newChance, roundsOf } from "./rounds.ts"
import { supervise } from "./supervised.ts"
import { within } from "../support/within.ts"

const ROUNDS = roundsOf(2, 20)
const TEXTS = 100

const place = await ownPlace({
  DATABASE_URL: await ownDatabase(),
  LEDGER_CLOCK: "test",
  RATE_LIMITS: "off",
})
const server = await supervise(place)
const sender = await makeSender(server.operate, "killed")
const acknowledged = new Map<string, string>()

const { seed, between } = newChance()

it.each(Array.from({ length: ROUNDS }, (_, i) => i + 1))(
  `loses nothing and charges nothing twice over kill -9 of the API (seed ${seed}, round %i)`,
  async (round) => {
    const load = startLoad(newNames(TEXTS), overHttp(server.address, sender.key))
    await load.reached(between(5, TEXTS - 40))
    const before = new Map(load.acknowledged)
    const killedAt = performance.now()
    await server.kill()
    await load.done
    expect(server.starts()).toBe(1 + round)
    expect(before.size).toBeLessThan(TEXTS)
    expect(load.backAfterMs(killedAt)).toBeLessThan(within(BACK_WITHIN_MS))
    expect(load.acknowledged.size).toBe(TEXTS)
    for (const [name, id] of load.acknowledged) acknowledged.set(name, id)
    for (const [name, id] of before) expect(acknowledged.get(name)).toBe(id)
    await reckon(server.operate, { ...sender, acknowledged })
  },
  180_000,
)

it("has ended whatever was left open after an hour, and charged what was acknowledged", async () => {
  await server.operate("clock advance", { duration: "2h" })
  await server.operate("wait")
  await reckon(server.operate, { ...sender, acknowledged }, true)
  expect(await server.stop()).toBe(0)
})
