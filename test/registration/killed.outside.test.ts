/** `kill -9` at each line of a submission: sent once, paid once, and nothing paid that nobody got. */
import { afterAll, describe, expect, it } from "vitest"
import type { Failpoint } from "../../adapters/failpoints/failpoints.ts"
import { isDeep } from "../charging/runs.ts"
import { testDatabase } from "../support/postgres.ts"
import type { Place } from "../support/server-process.ts"
import { makePlace } from "../support/server-process.ts"
import { makeCompany, openWorld } from "../support/world.ts"
import { feesOf, partsOf, sendBusiness, written } from "./registering.ts"

const places: Place[] = []
afterAll(async () => {
  for (const place of places) await place.clear()
})

type At = `${Failpoint}:${string}=${number}` | `${Failpoint}=${number}`

/** Every third line where there is little time: `LEDGER_DEEP=1` dies at all. */
const some = (lines: readonly At[]) => (isDeep ? lines : lines.filter((_, i) => i % 3 === 2))

const SENDING = [
  "append.before:Charged=1",
  "append.after:Charged=1",
  "append.before:PartSubmitted=1",
  "append.after:PartSubmitted=1",
  "provider.before=1",
  "provider.after=1",
  "append.before:PartReached=1",
  "append.after:PartReached=1",
  "append.before:ChargesClosed=1",
  "append.after:ChargesClosed=1",
] as const satisfies readonly At[]

describe("a submission whose process ended", () => {
  it.each(some(SENDING))(
    "at %s",
    async (failpoint) => {
      const database = await testDatabase()
      const setting = await openWorld("start", { url: database.url })
      const company = await makeCompany(setting)
      await written(setting, company)
      await setting.close()
      const place = await makePlace({
        DATABASE_URL: database.url,
        LEDGER_CLOCK: "test",
        NODE_ENV: "test",
        LEDGER_FAILPOINTS: failpoint,
      })
      places.push(place)
      const server = await place.start()
      const idempotent = { "idempotency-key": "killed" }
      const sent = fetch(`${server.url}/api/v1/phone/registration/business`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${company.key}`,
          "content-type": "application/json",
          ...idempotent,
        },
        body: JSON.stringify({ brandType: "low_volume", live: true }),
      })
      // A closing is gathered behind the answer.
      if (failpoint.includes("ChargesClosed")) await sent.catch(() => undefined)
      else await expect(sent).rejects.toThrow("fetch failed")
      expect(await server.ended).toBeNull()
      const world = await openWorld("start", { url: database.url })
      const again = await sendBusiness(world, company, { live: true }, idempotent)
      expect([again.status, again.body.overall]).toEqual([200, "waiting"])
      await world.operate("clock advance", { duration: "11m" })
      await world.operate("wait")
      expect(await feesOf(world, company)).toEqual(["brand_fee_low_volume 4500000 final"])
      expect(await partsOf(world, company)).toBe("business waiting, campaign not_sent")
      await world.close()
      await database.drop()
    },
    120_000,
  )
})
