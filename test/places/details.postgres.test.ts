/** `POST /api/v1/places`, `action: details`: an address is charged once, whoever asks at the same time. */
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

const ask = (
  body: object = {},
  {
    by = company,
    headers = {},
  }: { by?: Pick<Company, "key">; headers?: Record<string, string> } = {},
) => requestDetails({ app }, by, body, headers)

describe("an address", () => {
  it("is looked up, charged and kept: who asks again pays nothing, with another key either", async () => {
    const first = await ask()
    expect([first.status, first.body]).toEqual([200, { result: SAMPLE_ADDRESS }])
    expect(first.headers["ledger-position"]).toBeDefined()
    const other = await makeKey(world, company, {})
    for (const by of [company, other]) {
      expect(await ask({}, { by })).toMatchObject({ status: 200, body: { result: SAMPLE_ADDRESS } })
    }
    expect(places.queries).toHaveLength(1)
    expect([await billLinesOf(world, company), await pendingChargesOf(world, company)]).toEqual([
      CHARGED_LINES,
      [],
    ])
  })

  it("that is none is charged and kept as well", async () => {
    places.nextAddress = async () => null
    for (let i = 0; i < 2; i += 1) {
      expect(await ask()).toMatchObject({ status: 200, body: { result: null } })
    }
    expect([places.queries.length, await billLinesOf(world, company)]).toEqual([1, CHARGED_LINES])
  })

  it("is another one for another session, another place and another company", async () => {
    await ask()
    await ask({ sessionToken: "session-2" })
    await ask({ placeId: "demo_1_1" })
    const other = await makeCompany(world)
    await ask({}, { by: other })
    expect(places.queries).toHaveLength(4)
    expect([(await billLinesOf(world, company)).length, await billLinesOf(world, other)]).toEqual([
      3,
      CHARGED_LINES,
    ])
  })

  it("is charged again once a day is over", async () => {
    await ask()
    await world.operate("clock advance", { duration: "1439m" })
    await ask()
    expect(places.queries).toHaveLength(1)
    await world.operate("clock advance", { duration: "1m" })
    await ask()
    expect([places.queries.length, (await billLinesOf(world, company)).length]).toEqual([2, 2])
  })

  it("is kept sealed, and goes with its company", async () => {
    await ask()
    const kept = () =>
      anyTable(world.ports.readAll)
        .withSchema("ledger")
        .selectFrom("expiring_records")
        .selectAll()
        .where("company_id", "=", company.companyId)
        .execute()
    const rows = await kept()
    expect(rows.map(({ kind }) => kind).toSorted()).toEqual(["address", "pick"])
    expect(JSON.stringify(rows)).not.toMatch(/Maple|Riverton|session-1|demo_/)
    await world.operate("company delete", { company: company.companyId })
    await world.operate("clock advance", { duration: "15d" })
    expect(await kept()).toEqual([])
  })

  it("is answered again under its Idempotency-Key, and by another one from what is kept", async () => {
    const first = await ask({}, { headers: { "idempotency-key": "a" } })
    const again = await ask({}, { headers: { "idempotency-key": "a" } })
    expect([again.body, again.headers["idempotency-replayed"]]).toEqual([first.body, "true"])
    const other = await ask({}, { headers: { "idempotency-key": "b" } })
    expect([other.body, other.headers["idempotency-replayed"]]).toEqual([first.body, undefined])
    expect(await billLinesOf(world, company)).toEqual(CHARGED_LINES)
  })
})

describe("50 callers at once for one pick", () => {
  it("cost one look-up and one charge; the others are told to wait, or get what is kept", async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, () => ask()))
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

  it("are all told to wait while the one that looks it up is not done", async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    places.nextAddress = async () => {
      begun.resolve()
      await promise
      return SAMPLE_ADDRESS
    }
    const first = ask()
    await begun.promise
    const others = await Promise.all(Array.from({ length: 49 }, () => ask()))
    expect(new Set(others.map(({ body }) => body.error))).toEqual(new Set(["lookup_limit"]))
    resolve()
    expect((await first).status).toBe(200)
    expect([(await ask()).status, await billLinesOf(world, company)]).toEqual([200, CHARGED_LINES])
  })
})

describe("a look-up that comes to nothing", () => {
  it.for([
    ["is not available", new ProviderUnavailable("away")],
    ["is silent", new ProviderOutcomeUnknown("no answer")],
  ] as const)("is given back where the provider %s, and the next one works", async ([, error]) => {
    places.nextAddress = () => Promise.reject(error)
    const { status, body, headers } = await ask()
    expect([status, body.error, headers["retry-after"]]).toEqual([503, "unavailable", "5"])
    expect([await billLinesOf(world, company), await pendingChargesOf(world, company)]).toEqual([
      REFUNDED_LINES,
      [],
    ])
    places.nextAddress = async () => SAMPLE_ADDRESS
    expect((await ask()).status).toBe(200)
    expect(await billLinesOf(world, company)).toEqual([...REFUNDED_LINES, ...CHARGED_LINES])
  })

  it("that does not fit costs nothing, and asks nobody; with room for one of two one is made", async () => {
    await setLimit(world, company, { dollars: "0.019999" })
    expect(await ask()).toMatchObject({ status: 429, body: { error: "spend_limit_reached" } })
    expect([places.queries, await billLinesOf(world, company)]).toEqual([[], []])
    await setLimit(world, company, { dollars: "0.02" })
    const both = await Promise.all([ask({ placeId: "a1" }), ask({ placeId: "b2" })])
    expect(both.map(({ status }) => status).toSorted()).toEqual([200, 429])
    expect([places.queries.length, await billLinesOf(world, company)]).toEqual([1, CHARGED_LINES])
  })

  it("is a doubt where the program itself fails; its lease over, the next call does it for one charge", async () => {
    places.nextAddress = () => Promise.reject(new Error("a fault of ours"))
    expect(await ask()).toMatchObject({
      status: 503,
      body: { chargeId: expect.stringMatching(/^chg_/) as string },
    })
    places.nextAddress = async () => SAMPLE_ADDRESS
    expect((await ask()).body.error).toBe("lookup_limit")
    await pickLeasesOf(world, company, true)
    expect((await ask()).status).toBe(200)
    expect(await billLinesOf(world, company)).toEqual([...REFUNDED_LINES, ...CHARGED_LINES])
  })
})

describe("sessions at the provider", () => {
  it("are apart for each company and pick, and say nothing of the caller's token", async () => {
    places = newControlledPlaces(true)
    app = await unlimitedAppOf({ ...world.ports, places })
    const other = await makeCompany(world)
    const type = (by: Company) => requestSuggestions({ app }, by)
    await type(company)
    await type(company)
    await ask()
    await type(company)
    await ask({ placeId: "demo_1_1" })
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
