/** `kill -9` between the provider's answer and its keeping: charged once, answered on retry. */
import { expect, it } from "vitest"
import { openCrashTestDatabase } from "../support/failpoint-crashes.ts"
import { makeCallsFree, makeCompany } from "../support/world.ts"
import {
  CHARGED_LINES,
  REFUNDED_LINES,
  PLACES_PATH,
  requestDetails,
  pickLeasesOf,
  billLinesOf,
  pendingChargesOf,
} from "./place-requests.ts"

const turns = await openCrashTestDatabase()
await makeCallsFree(turns.world())

it.each(["provider.before=1", "provider.after=1"] as const)(
  "a process that ended at %s",
  async (line) => {
    const company = await makeCompany(turns.world())
    const body = { action: "details", placeId: "demo_7300_12", sessionToken: "session-1" }
    const world = await turns.crashAt(line, async (server) => {
      await expect(server.call(company.key, "POST", PLACES_PATH, { body })).rejects.toThrow(
        "fetch failed",
      )
    })
    expect(await billLinesOf(world, company)).toEqual(CHARGED_LINES)
    expect((await requestDetails(world, company)).body.error).toBe("lookup_limit")
    await pickLeasesOf(world, company, true)
    expect((await requestDetails(world, company)).body.result).toMatchObject({ country: "US" })
    const both = [...REFUNDED_LINES, ...CHARGED_LINES]
    expect([await billLinesOf(world, company), await pendingChargesOf(world, company)]).toEqual([
      both,
      [],
    ])
    await world.operate("clock advance", { duration: "11m" })
    expect(await billLinesOf(world, company)).toEqual(both)
  },
)
