/** `kill -9` around the provider call: the address is charged once, and answered on retry. */
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

const crashes = await openCrashTestDatabase()
await makeCallsFree(crashes.world())

it.each(["provider.before=1", "provider.after=1"] as const)(
  "an address is charged once and answered on retry after a crash at %s",
  async (line) => {
    const company = await makeCompany(crashes.world())
    const body = { action: "details", placeId: "demo_7300_12", sessionToken: "session-1" }
    const world = await crashes.crashAt(line, async (server) => {
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
