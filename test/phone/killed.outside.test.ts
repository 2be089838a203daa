/** `kill -9` at each line of a purchase and of rent: one number, and each month charged once. */
import { afterAll, describe, expect, it } from "vitest"
import type { Failpoint } from "../../adapters/failpoints/failpoints.ts"
import { isDeep } from "../charging/runs.ts"
import { sleepTo } from "../effects/spending.ts"
import { testDatabase } from "../support/postgres.ts"
import type { Place } from "../support/server-process.ts"
import { died, makePlace } from "../support/server-process.ts"
import type { Company, World } from "../support/world.ts"
import { makeCompany, openWorld } from "../support/world.ts"
import { LOCAL, bought, buy, chargesOf, numbersOf, rentsOf } from "./numbering.ts"

const places: Place[] = []
afterAll(async () => {
  for (const place of places) await place.clear()
})

/** Every second line where there is little time: `LEDGER_DEEP=1` dies at all. */
const some = (lines: readonly At[]) => (isDeep ? lines : lines.filter((_, i) => i % 2 === 1))

type At = `${Failpoint}:${string}=${number}` | `${Failpoint}=${number}`

async function placeAt(url: string, failpoint: At): Promise<Place> {
  const place = await makePlace({
    DATABASE_URL: url,
    LEDGER_CLOCK: "test",
    NODE_ENV: "test",
    LEDGER_FAILPOINTS: failpoint,
  })
  places.push(place)
  return place
}

const NUMBER = "+14155550142"

const BUYING = [
  "append.before:Charged=1",
  "append.after:Charged=1",
  "append.before:NumberOrdered=1",
  "append.after:NumberOrdered=1",
  "provider.before=1",
  "provider.after=1",
  "append.before:NumberAdded=1",
  "append.after:NumberAdded=1",
  "append.before:ChargesClosed=1",
  "append.after:ChargesClosed=1",
] as const satisfies readonly At[]

describe("a purchase whose process ended", () => {
  it.each(some(BUYING))(
    "at %s",
    async (failpoint) => {
      const database = await testDatabase()
      const setting = await openWorld("start", { url: database.url })
      const company = await makeCompany(setting)
      await setting.close()
      const server = await (await placeAt(database.url, failpoint)).start()
      const idempotent = { "idempotency-key": "killed" }
      const sent = fetch(`${server.url}/api/v1/phone/buy`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${company.key}`,
          "content-type": "application/json",
          ...idempotent,
        },
        body: JSON.stringify({ number: NUMBER }),
      })
      // A closing is gathered behind the answer.
      if (failpoint.includes("ChargesClosed")) await sent.catch(() => undefined)
      else await expect(sent).rejects.toThrow("fetch failed")
      expect(await server.ended).toBeNull()
      const world = await openWorld("start", { url: database.url })
      const again = await buy(world, company, NUMBER, idempotent)
      const bodies = [again.body.number?.number, again.status]
      expect(bodies).toEqual([NUMBER, 201])
      await world.operate("clock advance", { duration: "11m" })
      await world.operate("wait")
      expect(await chargesOf(world, company)).toEqual([{ micros: LOCAL, state: "final" }])
      expect((await numbersOf(world, company)).map(({ number }) => number)).toContain(NUMBER)
      expect(await numbersOf(world, company)).toHaveLength(2)
      await world.close()
      await database.drop()
    },
    120_000,
  )
})

/** A company whose number owes two months. */
async function owing(world: World): Promise<Company> {
  await world.operate("clock set", { to: "2040-01-31T08:00:00Z" })
  const company = await makeCompany(world)
  await bought(world, company)
  await world.operate("wait")
  await sleepTo(world, "2040-03-31T08:00:00Z")
  return company
}

const RENT = [
  "append.before:Charged=1",
  "append.after:Charged=1",
  "append.before:RentPaid=1",
  "append.after:RentPaid=1",
  "append.after:Charged=2",
  "append.after:RentPaid=2",
] as const satisfies readonly At[]

describe("rent whose process ended", () => {
  it.each(some(RENT))(
    "at %s",
    async (failpoint) => {
      const database = await testDatabase()
      const setting = await openWorld("start", { url: database.url })
      const company = await owing(setting)
      await setting.close()
      expect(await died(await placeAt(database.url, failpoint))).toBeNull()
      const world = await openWorld("start", { url: database.url })
      await world.operate("wait")
      const rents = await rentsOf(world, company)
      expect(rents.map(({ name, micros }) => [name, micros])).toEqual([
        ["first", LOCAL],
        ["2040-02", LOCAL],
        ["2040-03", LOCAL],
      ])
      expect((await numbersOf(world, company)).at(-1)).toMatchObject({
        paidThrough: "2040-04-30T08:00:00.000Z",
      })
      await world.close()
      await database.drop()
    },
    120_000,
  )
})
