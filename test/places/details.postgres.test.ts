/** `POST /api/v1/places`, `action: details`: an address is charged once, even for concurrent callers. */
import { anyTable } from "../support/read-models.ts"
import type { FastifyInstance } from "fastify"
import { beforeEach, describe, expect, it } from "vitest"
import {
  ProviderOutcomeUnknown,
  ProviderUnavailable,
} from "../../adapters/providers/provider-errors.ts"
import type { Company } from "../support/world.ts"
import { makeCallsFree, makeCompany, makeKey, ownWorld, setLimit } from "../support/world.ts"
import type { ControlledPlaces } from "./place-requests.ts"
import {
  SAMPLE_ADDRESS,
  CHARGED_LINES,
  REFUNDED_LINES,
  unlimitedAppOf,
  requestDetails,
  pickLeasesOf,
  billLinesOf,
  pendingChargesOf,
  newControlledPlaces,
  requestSuggestions,
} from "./place-requests.ts"

const world = await ownWorld("time", { rateLimits: "off" })
await makeCallsFree(world)
let app: FastifyInstance
let places: ControlledPlaces
let company: Company
beforeEach(async () => {
  places = newControlledPlaces()
  app = await unlimitedAppOf({ ...world.ports, places })
  company = await makeCompany(world)
})

const getDetails = (
  body: object = {},
  {
    by = company,
    headers = {},
  }: { by?: Pick<Company, "key">; headers?: Record<string, string> } = {},
) => requestDetails({ app }, by, body, headers)

describe("an address", () => {
  it("is looked up, charged and cached: the same request again is free, with any key of the company", async () => {
    const first = await getDetails()
    expect([first.status, first.body]).toEqual([200, { result: SAMPLE_ADDRESS }])
    expect(first.headers["ledger-position"]).toBeDefined()
    const other = await makeKey(world, company, {})
    for (const by of [company, other]) {
      expect(await getDetails({}, { by })).toMatchObject({
        status: 200,
        body: { result: SAMPLE_ADDRESS },
      })
    }
    expect(places.queries).toHaveLength(1)
    expect([await billLinesOf(world, company), await pendingChargesOf(world, company)]).toEqual([
      CHARGED_LINES,
      [],
    ])
  })

  it("that does not exist is charged and cached too", async () => {
    places.nextAddress = async () => null
    for (let i = 0; i < 2; i += 1) {
      expect(await getDetails()).toMatchObject({ status: 200, body: { result: null } })
    }
    expect([places.queries.length, await billLinesOf(world, company)]).toEqual([1, CHARGED_LINES])
  })

  it("is charged per session, place and company", async () => {
    await getDetails()
    await getDetails({ sessionToken: "session-2" })
    await getDetails({ placeId: "demo_1_1" })
    const other = await makeCompany(world)
    await getDetails({}, { by: other })
    expect(places.queries).toHaveLength(4)
    expect([(await billLinesOf(world, company)).length, await billLinesOf(world, other)]).toEqual([
      3,
      CHARGED_LINES,
    ])
  })

  it("is charged again after a day", async () => {
    await getDetails()
    await world.operate("clock advance", { duration: "1439m" })
    await getDetails()
    expect(places.queries).toHaveLength(1)
    await world.operate("clock advance", { duration: "1m" })
    await getDetails()
    expect([places.queries.length, (await billLinesOf(world, company)).length]).toEqual([2, 2])
  })

  it("is cached sealed, and erased with its company", async () => {
    await getDetails()
    const cached = () =>
      anyTable(world.ports.readAll)
        .withSchema("ledger")
        .selectFrom("expiring_records")
        .selectAll()
        .where("company_id", "=", company.companyId)
        .execute()
    const rows = await cached()
    expect(rows.map(({ kind }) => kind).toSorted()).toEqual(["address", "pick"])
    expect(JSON.stringify(rows)).not.toMatch(/Maple|Riverton|session-1|demo_/)
    await world.operate("company delete", { company: company.companyId })
    await world.operate("clock advance", { duration: "15d" })
    expect(await cached()).toEqual([])
  })

  it("is replayed for the same Idempotency-Key, and answered from the cache for another one", async () => {
    const first = await getDetails({}, { headers: { "idempotency-key": "a" } })
    const again = await getDetails({}, { headers: { "idempotency-key": "a" } })
    expect([again.body, again.headers["idempotency-replayed"]]).toEqual([first.body, "true"])
    const other = await getDetails({}, { headers: { "idempotency-key": "b" } })
    expect([other.body, other.headers["idempotency-replayed"]]).toEqual([first.body, undefined])
    expect(await billLinesOf(world, company)).toEqual(CHARGED_LINES)
  })
})

describe("50 concurrent requests for one pick", () => {
  it("cost one lookup and one charge; the others get `lookup_limit` or the cached address", async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, () => getDetails()))
    const found = answers.filter(({ status }) => status === 200)
    const waiting = answers.filter(({ status }) => status === 429)
    expect(found.length + waiting.length).toBe(50)
    expect(found.length).toBeGreaterThan(0)
    for (const { body } of found) expect(body).toEqual({ result: SAMPLE_ADDRESS })
    for (const { body, headers } of waiting) {
      expect([body.error, headers["retry-after"]]).toEqual(["lookup_limit", undefined])
    }
    expect([places.queries.length, await billLinesOf(world, company)]).toEqual([1, CHARGED_LINES])
    expect(await pendingChargesOf(world, company)).toEqual([])
  })

  it("get `lookup_limit` while the first one is looking the address up", async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const started = Promise.withResolvers<void>()
    places.nextAddress = async () => {
      started.resolve()
      await promise
      return SAMPLE_ADDRESS
    }
    const first = getDetails()
    await started.promise
    const others = await Promise.all(Array.from({ length: 49 }, () => getDetails()))
    expect(new Set(others.map(({ body }) => body.error))).toEqual(new Set(["lookup_limit"]))
    resolve()
    expect((await first).status).toBe(200)
    expect([(await getDetails()).status, await billLinesOf(world, company)]).toEqual([
      200,
      CHARGED_LINES,
    ])
  })
})

describe("a failed lookup", () => {
  it.for([
    ["is unavailable", new ProviderUnavailable("away")],
    ["does not answer", new ProviderOutcomeUnknown("no answer")],
  ] as const)("is refunded if the provider %s, and the next one succeeds", async ([, error]) => {
    places.nextAddress = () => Promise.reject(error)
    const { status, body, headers } = await getDetails()
    expect([status, body.error, headers["retry-after"]]).toEqual([503, "unavailable", "5"])
    expect([await billLinesOf(world, company), await pendingChargesOf(world, company)]).toEqual([
      REFUNDED_LINES,
      [],
    ])
    places.nextAddress = async () => SAMPLE_ADDRESS
    expect((await getDetails()).status).toBe(200)
    expect(await billLinesOf(world, company)).toEqual([...REFUNDED_LINES, ...CHARGED_LINES])
  })

  it("over the spending limit costs nothing and calls no provider; of two, one is made if one fits", async () => {
    await setLimit(world, company, { dollars: "0.019999" })
    expect(await getDetails()).toMatchObject({
      status: 429,
      body: { error: "spend_limit_reached" },
    })
    expect([places.queries, await billLinesOf(world, company)]).toEqual([[], []])
    await setLimit(world, company, { dollars: "0.02" })
    const both = await Promise.all([getDetails({ placeId: "a1" }), getDetails({ placeId: "b2" })])
    expect(both.map(({ status }) => status).toSorted()).toEqual([200, 429])
    expect([places.queries.length, await billLinesOf(world, company)]).toEqual([1, CHARGED_LINES])
  })

  it("has an unknown outcome if the program fails; after its lease, the next call is charged once", async () => {
    places.nextAddress = () => Promise.reject(new Error("a fault of ours"))
    expect(await getDetails()).toMatchObject({
      status: 503,
      body: { chargeId: expect.stringMatching(/^chg_/) as string },
    })
    places.nextAddress = async () => SAMPLE_ADDRESS
    expect((await getDetails()).body.error).toBe("lookup_limit")
    await pickLeasesOf(world, company, true)
    expect((await getDetails()).status).toBe(200)
    expect(await billLinesOf(world, company)).toEqual([...REFUNDED_LINES, ...CHARGED_LINES])
  })
})

describe("provider sessions", () => {
  it("differ for each company and pick, and do not reveal the caller's token", async () => {
    places = newControlledPlaces(true)
    app = await unlimitedAppOf({ ...world.ports, places })
    const other = await makeCompany(world)
    const type = (by: Company) => requestSuggestions({ app }, by)
    await type(company)
    await type(company)
    await getDetails()
    await type(company)
    await getDetails({ placeId: "demo_1_1" })
    await type(other)
    const sessions = places.queries.map((one) => one.split(" ").at(-1) ?? "")
    const [a, b, c, d, e, f] = sessions
    expect([a === b, b === c, c === d, d === e, e === f]).toEqual([true, true, false, true, false])
    for (const session of sessions) {
      expect(session).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/)
      expect(session.length).toBe(36)
    }
  })
})
