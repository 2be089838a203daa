/** `POST /api/v1/places`, `action: details`: an address is charged once, whoever asks at the same time. */
import { anyTable } from "../support/read-models.ts"
import type { FastifyInstance } from "fastify"
import { beforeEach, describe, expect, it } from "vitest"
import { ProviderSilent, ProviderUnavailable } from "../../adapters/providers/outside.ts"
import type { Company } from "../support/world.ts"
import { makeCallsFree, makeCompany, makeKey, ownWorld, setLimit } from "../support/world.ts"
import type { PlacesInHand } from "./looking.ts"
import {
  ADDRESS,
  CHARGED,
  GIVEN_BACK,
  appOf,
  details,
  leasesOf,
  lines,
  open,
  placesInHand,
  suggest,
} from "./looking.ts"

const world = await ownWorld("time", { rateLimits: "off" })
await makeCallsFree(world)
let app: FastifyInstance
let places: PlacesInHand
let company: Company
beforeEach(async () => {
  places = placesInHand()
  app = await appOf({ ...world.ports, places })
  company = await makeCompany(world)
})

const ask = (
  body: object = {},
  {
    by = company,
    headers = {},
  }: { by?: Pick<Company, "key">; headers?: Record<string, string> } = {},
) => details({ app }, by, body, headers)

describe("an address", () => {
  it("is looked up, charged and kept: who asks again pays nothing, with another key either", async () => {
    const first = await ask()
    expect([first.status, first.body]).toEqual([200, { result: ADDRESS }])
    expect(first.headers["ledger-position"]).toBeDefined()
    const other = await makeKey(world, company, {})
    for (const by of [company, other]) {
      expect(await ask({}, { by })).toMatchObject({ status: 200, body: { result: ADDRESS } })
    }
    expect(places.asked).toHaveLength(1)
    expect([await lines(world, company), await open(world, company)]).toEqual([CHARGED, []])
  })

  it("that is none is charged and kept as well", async () => {
    places.found = async () => null
    for (let i = 0; i < 2; i += 1) {
      expect(await ask()).toMatchObject({ status: 200, body: { result: null } })
    }
    expect([places.asked.length, await lines(world, company)]).toEqual([1, CHARGED])
  })

  it("is another one for another session, another place and another company", async () => {
    await ask()
    await ask({ sessionToken: "session-2" })
    await ask({ placeId: "demo_1_1" })
    const other = await makeCompany(world)
    await ask({}, { by: other })
    expect(places.asked).toHaveLength(4)
    expect([(await lines(world, company)).length, await lines(world, other)]).toEqual([3, CHARGED])
  })

  it("is charged again once a day is over", async () => {
    await ask()
    await world.operate("clock advance", { duration: "1439m" })
    await ask()
    expect(places.asked).toHaveLength(1)
    await world.operate("clock advance", { duration: "1m" })
    await ask()
    expect([places.asked.length, (await lines(world, company)).length]).toEqual([2, 2])
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
    expect(await lines(world, company)).toEqual(CHARGED)
  })
})

describe("50 callers at once for one pick", () => {
  it("cost one look-up and one charge; the others are told to wait, or get what is kept", async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, () => ask()))
    const found = answers.filter(({ status }) => status === 200)
    const waiting = answers.filter(({ status }) => status === 429)
    expect(found.length + waiting.length).toBe(50)
    expect(found.length).toBeGreaterThan(0)
    for (const { body } of found) expect(body).toEqual({ result: ADDRESS })
    for (const { body, headers } of waiting) {
      expect([body.error, headers["retry-after"]]).toEqual(["lookup_limit", undefined])
    }
    expect([places.asked.length, await lines(world, company)]).toEqual([1, CHARGED])
    expect(await open(world, company)).toEqual([])
  })

  it("are all told to wait while the one that looks it up is not done", async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    places.found = async () => {
      begun.resolve()
      await promise
      return ADDRESS
    }
    const first = ask()
    await begun.promise
    const others = await Promise.all(Array.from({ length: 49 }, () => ask()))
    expect(new Set(others.map(({ body }) => body.error))).toEqual(new Set(["lookup_limit"]))
    resolve()
    expect((await first).status).toBe(200)
    expect([(await ask()).status, await lines(world, company)]).toEqual([200, CHARGED])
  })
})

describe("a look-up that comes to nothing", () => {
  it.for([
    ["is not available", new ProviderUnavailable("away")],
    ["is silent", new ProviderSilent("no answer")],
  ] as const)("is given back where the provider %s, and the next one works", async ([, error]) => {
    places.found = () => Promise.reject(error)
    const { status, body, headers } = await ask()
    expect([status, body.error, headers["retry-after"]]).toEqual([503, "unavailable", "5"])
    expect([await lines(world, company), await open(world, company)]).toEqual([GIVEN_BACK, []])
    places.found = async () => ADDRESS
    expect((await ask()).status).toBe(200)
    expect(await lines(world, company)).toEqual([...GIVEN_BACK, ...CHARGED])
  })

  it("that does not fit costs nothing, and asks nobody; with room for one of two one is made", async () => {
    await setLimit(world, company, { dollars: "0.019999" })
    expect(await ask()).toMatchObject({ status: 429, body: { error: "spend_limit_reached" } })
    expect([places.asked, await lines(world, company)]).toEqual([[], []])
    await setLimit(world, company, { dollars: "0.02" })
    const both = await Promise.all([ask({ placeId: "a1" }), ask({ placeId: "b2" })])
    expect(both.map(({ status }) => status).toSorted()).toEqual([200, 429])
    expect([places.asked.length, await lines(world, company)]).toEqual([1, CHARGED])
  })

  it("is a doubt where the program itself fails; its lease over, the next call does it for one charge", async () => {
    places.found = () => Promise.reject(new Error("a fault of ours"))
    expect(await ask()).toMatchObject({
      status: 503,
      body: { chargeId: expect.stringMatching(/^chg_/) as string },
    })
    places.found = async () => ADDRESS
    expect((await ask()).body.error).toBe("lookup_limit")
    await leasesOf(world, company, true)
    expect((await ask()).status).toBe(200)
    expect(await lines(world, company)).toEqual([...GIVEN_BACK, ...CHARGED])
  })
})

describe("sessions at the provider", () => {
  it("are apart for each company and pick, and say nothing of the caller's token", async () => {
    places = placesInHand(true)
    app = await appOf({ ...world.ports, places })
    const other = await makeCompany(world)
    const type = (by: Company) => suggest({ app }, by)
    await type(company)
    await type(company)
    await ask()
    await type(company)
    await ask({ placeId: "demo_1_1" })
    await type(other)
    const sessions = places.asked.map((one) => one.split(" ").at(-1) ?? "")
    const [a, b, c, d, e, f] = sessions
    expect([a === b, b === c, c === d, d === e, e === f]).toEqual([true, true, false, true, false])
    for (const session of sessions) {
      expect(session).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-8[0-9a-f]{3}-[0-9a-f]{12}$/)
      expect(session.length).toBe(36)
    }
  })
})
