/** `kill -9` between the provider's answer and its keeping: charged once, answered on retry. */
import { expect, it } from "vitest"
import { openTurns } from "../support/killed.ts"
import { makeCallsFree, makeCompany } from "../support/world.ts"
import { CHARGED, GIVEN_BACK, PLACES_URL, details, leasesOf, lines, open } from "./looking.ts"

const turns = await openTurns()
await makeCallsFree(turns.world())

it.each(["provider.before=1", "provider.after=1"] as const)(
  "a process that ended at %s",
  async (line) => {
    const company = await makeCompany(turns.world())
    const body = { action: "details", placeId: "demo_7300_12", sessionToken: "session-1" }
    const world = await turns.dieAt(line, async (server) => {
      await expect(server.call(company.key, "POST", PLACES_URL, { body })).rejects.toThrow(
        "fetch failed",
      )
    })
    expect(await lines(world, company)).toEqual(CHARGED)
    expect((await details(world, company)).body.error).toBe("lookup_limit")
    await leasesOf(world, company, true)
    expect((await details(world, company)).body.result).toMatchObject({ country: "US" })
    const both = [...GIVEN_BACK, ...CHARGED]
    expect([await lines(world, company), await open(world, company)]).toEqual([both, []])
    await world.operate("clock advance", { duration: "11m" })
    expect(await lines(world, company)).toEqual(both)
  },
)
