/** A slice of its own folder and one line in a list: charged, meant, done outside, ended. */
import { sql } from "kysely"
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { assemble } from "../../src/frame/slice.ts"
import { SLICES } from "../../src/slices.ts"
import type { Company, World } from "../support/world.ts"
import { makeCallsFree, makeCompany, openWorld } from "../support/world.ts"
import type { PretendedProvider } from "./pretended-slice.ts"
import { longReaction, pretendedSlice } from "./pretended-slice.ts"

const URL = "/api/v1/pretended/things"
const PRICE = 250_000

const provider: PretendedProvider = { acts: "makes it", made: new Set() }
let begun = () => undefined as void
const long = { name: "long", reactions: [longReaction(() => begun())] }
const program = assemble([...SLICES, pretendedSlice(provider), long])
let world: World
let company: Company
beforeAll(async () => {
  world = await openWorld({ program })
  await makeCallsFree(world)
})
afterAll(() => world.close())
beforeEach(async () => {
  provider.acts = "makes it"
  company = await makeCompany(world)
})

const make = (name: string, idempotencyKey?: string) =>
  world.call(company.key, "POST", URL, {
    body: { name },
    ...(idempotencyKey === undefined ? {} : { headers: { "idempotency-key": idempotencyKey } }),
  })
const funds = async (): Promise<number> =>
  (await world.operate("company show", { company: company.companyId })).balanceMicros
const open = async (): Promise<number> =>
  (await world.operate("charges open", { company: company.companyId })).charges.length
const rows = async (kind: string) => {
  const found = await sql<{ tries: number; process_id: string | null }>`
    select tries, process_id from ledger.work
    where kind = ${kind} and company_id = ${company.companyId}`.execute(world.ports.readAll)
  return found.rows
}

describe("what is charged", () => {
  it("is answered, done and paid for", async () => {
    const { status, body } = await make("a")
    expect([status, body]).toEqual([202, { id: expect.stringMatching(/^thing_/), name: "a" }])
    await world.operate("wait")
    expect(provider.made.has(body.id)).toBe(true)
    expect([await funds(), await open()]).toEqual([50_000_000 - PRICE, 0])
  })

  it("costs nothing where it is refused before it is paid, or by what it is meant for", async () => {
    expect(await make("nothing")).toMatchObject({ status: 409 })
    expect(await make("late nothing")).toMatchObject({ status: 409 })
    await world.operate("wait")
    expect([await funds(), await open()]).toEqual([50_000_000, 0])
  })

  it("is given back where the provider refuses it", async () => {
    provider.acts = "refuses it"
    expect(await make("a")).toMatchObject({ status: 202 })
    await world.operate("wait")
    expect([await funds(), await open()]).toEqual([50_000_000, 0])
  })

  it("is found by asking where the provider was silent, and paid for", async () => {
    provider.acts = "is silent"
    await make("a")
    await world.operate("wait")
    expect([await funds(), await open()]).toEqual([50_000_000 - PRICE, 1])
    await world.operate("clock advance", { duration: "1m" })
    expect([await funds(), await open()]).toEqual([50_000_000 - PRICE, 0])
  })

  it("is made once, whoever sends the request again", async () => {
    const first = await make("a", "the same")
    const again = await make("a", "the same")
    expect(again.body).toEqual(first.body)
    expect(again.headers["idempotency-replayed"]).toBe("true")
    await world.operate("wait")
    expect(await funds()).toBe(50_000_000 - PRICE)
  })

  it("is refused where it does not fit a limit", async () => {
    await world.operate("limit set", {
      ...{ company: company.companyId, class: "general", period: "month", dollars: "0.10" },
    })
    expect(await make("a")).toMatchObject({ status: 429, body: { error: "spend_limit_reached" } })
    expect(await funds()).toBe(50_000_000)
  })

  it("ends with its company, and what it cost is given back", async () => {
    provider.acts = "is away"
    await make("a")
    await world.operate("company delete", { company: company.companyId })
    await world.operate("clock advance", { duration: "15d" })
    const { charges } = await world.operate("charges open")
    expect(charges).toEqual([])
    expect(await rows("make-thing")).toEqual([])
  })
})

describe("work that takes long", () => {
  it("is let go at a stop as if it had not been tried, and taken up by who comes next", async () => {
    const first = Promise.withResolvers<void>()
    begun = first.resolve
    const { companyId } = company
    await world.operate("funds add", { company: companyId, dollars: "1", reference: "long" })
    await first.promise
    expect(await rows("take-long")).toEqual([{ tries: 1, process_id: expect.any(String) }])
    const second = Promise.withResolvers<void>()
    begun = second.resolve
    world = await world.restart()
    await second.promise
    expect(await rows("take-long")).toEqual([{ tries: 1, process_id: expect.any(String) }])
    begun = () => undefined
  })
})

describe("the list of slices", () => {
  it.for([
    ["route", { name: "b", routes: pretendedSlice(provider).routes ?? [] }],
    ["reaction", { name: "b", reactions: [longReaction(() => undefined)] }],
    ["slice", { name: "pretended" }],
    [
      "prefix of what is charged",
      { name: "b", reconciled: pretendedSlice(provider).reconciled ?? [] },
    ],
  ] as const)("has no %s twice", ([what, twice]) => {
    const slices = [pretendedSlice(provider), long, twice]
    expect(() => assemble(slices)).toThrow(`two slices bring the ${what}`)
  })
})
