/** `POST /api/v1/places`, `action: suggest`, and the input that both actions accept. */
import { anyTable } from "../support/read-models.ts"
import { beforeEach, describe, expect, it } from "vitest"
import type { Company } from "../support/world.ts"
import { makeCallsFree, makeCompany, openWorld, ownWorld } from "../support/world.ts"
import { startPhoton } from "./place-servers.ts"
import {
  PLACES_PATH,
  SUGGESTION_MICROS,
  SESSION_TOKEN,
  requestDetails,
  billLinesOf,
  pendingChargesOf,
  requestSuggestions,
} from "./place-requests.ts"

const world = await ownWorld("settings", { rateLimits: "off" })
await makeCallsFree(world)
let company: Company
beforeEach(async () => {
  company = await makeCompany(world)
})

const simulateOnce = (outcome: string) =>
  world.operate("simulator set", { name: "places", outcome, times: 1 })

describe("suggestions", () => {
  it("are charged each time, and can be looked up as addresses", async () => {
    const first = await requestSuggestions(world, company)
    expect(first.status).toBe(200)
    expect(first.body.result[0]).toMatchObject({ main: expect.stringMatching(/^12 Ma/) as string })
    await requestSuggestions(world, company, { input: "12 maple" })
    expect([await billLinesOf(world, company), await pendingChargesOf(world, company)]).toEqual([
      [`charge -${SUGGESTION_MICROS}`, `charge -${SUGGESTION_MICROS}`],
      [],
    ])
    const { placeId, main } = first.body.result[0]
    const { body } = await requestDetails(world, company, { placeId })
    expect(body.result).toMatchObject({ line1: main, country: "US" })
  })

  it("are charged even if none match, and refunded if the provider fails", async () => {
    await simulateOnce("none")
    expect((await requestSuggestions(world, company)).body).toEqual({ result: [] })
    await simulateOnce("unavailable")
    const { status, body } = await requestSuggestions(world, company)
    expect([status, body.error]).toEqual([503, "unavailable"])
    expect(await billLinesOf(world, company)).toEqual([
      `charge -${SUGGESTION_MICROS}`,
      `charge -${SUGGESTION_MICROS}`,
      `give_back ${SUGGESTION_MICROS}`,
    ])
  })

  it("are never stored", async () => {
    await requestSuggestions(world, company, { input: "742 secret road" })
    await world.operate("wait")
    const found = await anyTable(world.ports.readAll)
      .withSchema("ledger")
      .selectFrom("expiring_records")
      .selectAll()
      .where("company_id", "=", company.companyId)
      .execute()
    expect(found).toEqual([])
    const { body } = await world.call(company.key, "GET", "/api/v1/ledger/events")
    expect(JSON.stringify(body)).not.toMatch(/secret road|session-1/)
  })

  it("need a card on file, as addresses do", async () => {
    await world.operate("card remove", { company: company.companyId })
    for (const request of [requestSuggestions, requestDetails]) {
      expect((await request(world, company)).body.error).toBe("needs_managed_plan")
    }
  })
})

describe("a request", () => {
  it.for([
    ["an input of 1 character", { input: "a" }],
    ["an input of 200 characters", { input: "a".repeat(200) }],
    ["an input of 200 emoji", { input: "😀".repeat(200) }],
    ["a token of 8 characters", { sessionToken: "12345678" }],
    ["a token of 100 characters", { sessionToken: "é".repeat(100) }],
  ] as const)("may have %s", async ([, body]) => {
    expect((await requestSuggestions(world, company, body)).status).toBe(200)
  })

  it.for([
    ["an empty input", { input: "" }, "input"],
    ["an input of spaces", { input: " \u00a0 " }, "input"],
    ["an input of 201 characters", { input: "a".repeat(201) }, "input"],
    ["an input of 201 emoji", { input: "😀".repeat(201) }, "input"],
    ["an input with a line break", { input: "a\nb" }, "input"],
    ["an input with NUL", { input: "a\0" }, "input"],
    ["a number as its input", { input: 5 }, "input"],
    ["half a surrogate pair as its input", { input: "\ud83d" }, "input"],
    ["a token of 7 characters", { sessionToken: "1234567" }, "sessionToken"],
    ["a token of 101 characters", { sessionToken: "1".repeat(101) }, "sessionToken"],
    ["a token of 7 emoji", { sessionToken: "😀".repeat(7) }, "sessionToken"],
  ] as const)("is rejected if it has %s", async ([, body, field]) => {
    const answer = await requestSuggestions(world, company, body)
    expect([answer.status, Object.keys(answer.body.fields)]).toEqual([400, [field]])
  })

  it.for([
    ["", 400],
    ["x".repeat(1_001), 400],
    ["a\u0000b", 400],
    ["x".repeat(1_000), 200],
    ["../..?key=", 200],
  ] as const)("for the place %s gets %i", async ([placeId, status]) => {
    const answer = await requestDetails(world, company, { placeId })
    expect(answer.status).toBe(status)
    if (status === 200) expect(answer.body).toEqual({ result: null })
  })

  it("is rejected unless it names exactly one known action", async () => {
    const bodies = [
      { input: "12 map", sessionToken: SESSION_TOKEN },
      { action: "find", input: "12 map", sessionToken: SESSION_TOKEN },
      { action: ["suggest", "details"], input: "12 map", sessionToken: SESSION_TOKEN },
    ]
    for (const body of bodies) {
      const { status } = await world.call(company.key, "POST", PLACES_PATH, { body })
      expect(status).toBe(400)
    }
  })
})

describe("a configured provider", () => {
  it("replaces the simulator, and its rejection of our settings is logged for the operator", async () => {
    const photon = await startPhoton()
    const other = await openWorld("start", { settings: { PLACES_PHOTON_URL: photon.url } })
    try {
      await makeCallsFree(other)
      const otherCompany = await makeCompany(other)
      const { body } = await requestSuggestions(other, otherCompany)
      expect(body.result[0].main).toBe("12 Maple Street")
      const { placeId } = body.result[0]
      expect((await requestDetails(other, otherCompany, { placeId })).body.result).toMatchObject({
        zip: "40218",
      })
      // A place ID works only for the company that received it.
      const stranger = await makeCompany(other)
      expect((await requestDetails(other, stranger, { placeId })).body).toEqual({ result: null })
      photon.nextReply = { status: 403, body: "" }
      expect((await requestSuggestions(other, otherCompany)).status).toBe(503)
      expect(other.warnings).toEqual([
        expect.stringMatching(
          /^the address provider rejects our settings, so addresses cannot be looked up: .*check PLACES_PHOTON_URL$/,
        ),
      ])
    } finally {
      await other.close()
      await photon.close()
    }
  })
})
