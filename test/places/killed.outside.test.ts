/** `kill -9` between the provider's answer and its keeping: charged once, answered on retry. */
import { afterAll, expect, it } from "vitest"
import type { Failpoint } from "../../adapters/failpoints/failpoints.ts"
import { makePlace } from "../support/server-process.ts"
import type { Place } from "../support/server-process.ts"
import { testDatabase } from "../support/postgres.ts"
import { makeCallsFree, makeCompany, openWorld } from "../support/world.ts"
import { CHARGED, GIVEN_BACK, details, leasesOf, lines, open } from "./looking.ts"

const places: Place[] = []
afterAll(async () => {
  for (const place of places) await place.clear()
})

it.each(["provider.before", "provider.after"] as const satisfies readonly Failpoint[])(
  "a process that ended at %s",
  async (name) => {
    const database = await testDatabase()
    const place = await makePlace({
      DATABASE_URL: database.url,
      LEDGER_CLOCK: "test",
      NODE_ENV: "test",
      LEDGER_FAILPOINTS: `${name}=1`,
    })
    places.push(place)
    const server = await place.start()
    const world = await openWorld("start", { url: database.url })
    await makeCallsFree(world)
    const company = await makeCompany(world)
    const body = { action: "details", placeId: "demo_7300_12", sessionToken: "session-1" }
    const headers = { authorization: `Bearer ${company.key}`, "content-type": "application/json" }
    const lost = fetch(`${server.url}/api/v1/places`, {
      method: "POST",
      headers,
      body: JSON.stringify(body),
    })
    await expect(lost).rejects.toThrow("fetch failed")
    expect(await server.ended).toBeNull()
    expect(await lines(world, company)).toEqual(CHARGED)
    expect((await details(world, company)).body.error).toBe("lookup_limit")
    await leasesOf(world, company, true)
    expect((await details(world, company)).body.result).toMatchObject({ country: "US" })
    const both = [...GIVEN_BACK, ...CHARGED]
    expect([await lines(world, company), await open(world, company)]).toEqual([both, []])
    await world.operate("clock advance", { duration: "11m" })
    expect(await lines(world, company)).toEqual(both)
    await world.close()
    await database.drop()
  },
  60_000,
)
