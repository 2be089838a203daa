/** A slice of its own folder and one line in a list: charged, meant, done outside, ended. */
import { sql } from "kysely"
import { afterAll, beforeEach, describe, expect, it } from "vitest"
import type { Route } from "../../src/frame/routes/declare/route.ts"
import { routesIn } from "../../src/frame/routes/declare/one-of.ts"
import { assemble } from "../../src/frame/slice.ts"
import { SLICES } from "../../src/slices.ts"
import type { Company } from "../support/world.ts"
import { fundsOf, makeCallsFree, makeCompany, openWorld, setLimit } from "../support/world.ts"
import { longReaction, pretendedProvider, pretendedSlice } from "./pretended-slice.ts"

const URL = "/api/v1/pretended/things"
const PRICE = 250_000

const provider = pretendedProvider()
let begun = () => undefined as void
const long = { name: "long", reactions: [longReaction(() => begun())] }
const program = assemble([...SLICES, pretendedSlice(provider), long])
let world = await openWorld("settings", { program })
await makeCallsFree(world)
let company: Company
afterAll(() => world.close())
beforeEach(async () => {
  provider.acts = "makes it"
  provider.holds = Promise.resolve()
  provider.handed.length = 0
  company = await makeCompany(world)
})

const make = (name: string, idempotencyKey?: string) =>
  world.call(company.key, "POST", URL, {
    body: { name },
    ...(idempotencyKey === undefined ? {} : { headers: { "idempotency-key": idempotencyKey } }),
  })
const funds = () => fundsOf(world, company)
const open = async (): Promise<number> =>
  (await world.operate("charge pending", { company: company.companyId })).charges.length
const rows = async (kind: string) => {
  const found = await sql<{ attempts: number; process_id: string | null }>`
    select attempts, process_id from ledger.jobs
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
    await setLimit(world, company, { dollars: "0.10" })
    expect(await make("a")).toMatchObject({ status: 429, body: { error: "spend_limit_reached" } })
    expect(await funds()).toBe(50_000_000)
  })

  it("ends with its company, and what it cost is given back", async () => {
    provider.acts = "is away"
    await make("a")
    await world.operate("company delete", { company: company.companyId })
    await world.operate("clock advance", { duration: "15d" })
    const { charges } = await world.operate("charge pending")
    expect(charges).toEqual([])
    expect(await rows("make-thing")).toEqual([])
  })
})

describe("a call that waits", () => {
  const MAIL_PRICE = 1_000
  const mail = (idempotencyKey: string) =>
    world.call(company.key, "POST", `${URL}/mailed`, {
      body: { name: "a" },
      headers: { "idempotency-key": idempotencyKey },
    })

  it("is answered with what came of it, done once by this very process", async () => {
    const { status, body } = await mail("one")
    expect([status, body]).toEqual([201, { id: expect.stringMatching(/^mailed_/), name: "a" }])
    expect([await funds(), await open()]).toEqual([50_000_000 - MAIL_PRICE, 0])
    expect((await mail("one")).body).toEqual(body)
    await world.operate("wait")
    expect(provider.handed).toEqual([body.id])
  })

  it("is refused where the provider refuses, and nothing is paid", async () => {
    provider.acts = "refuses it"
    expect(await mail("two")).toMatchObject({ status: 409, body: { error: "conflict" } })
    expect([await funds(), await open()]).toEqual([50_000_000, 0])
  })

  it("of a silent provider is a doubt, which sends the same once more and then waits for somebody", async () => {
    provider.acts = "is silent"
    const doubt = await mail("three")
    expect(doubt).toMatchObject({ status: 503, body: { error: "unavailable" } })
    expect(doubt.body.chargeId).toMatch(/^chg_/)
    expect([await funds(), await open()]).toEqual([50_000_000 - MAIL_PRICE, 1])
    await world.operate("clock advance", { duration: "2m" })
    expect(provider.handed).toHaveLength(2)
    const { work } = await world.operate("job list")
    const parked = work.find(({ kind }: { kind: string }) => kind === "mail-thing")
    expect(parked.parked).toBe(
      "the relay may have done this mail, said nothing, and cannot be asked",
    )
    await world.operate("clock advance", { duration: "2h" })
    expect(provider.handed).toHaveLength(2)
    await world.operate("job discard", { workId: parked.workId }, "the relay lost it")
    expect([await funds(), await open()]).toEqual([50_000_000, 0])
  })

  it("of an answer that came later is told it, by whoever sends the request again", async () => {
    provider.acts = "is silent"
    expect(await mail("four")).toMatchObject({ status: 503 })
    provider.acts = "makes it"
    await world.operate("clock advance", { duration: "2m" })
    expect(await mail("four")).toMatchObject({ status: 201, body: { name: "a" } })
    expect(provider.handed).toHaveLength(2)
    expect([await funds(), await open()]).toEqual([50_000_000 - MAIL_PRICE, 0])
  })

  it("is told at once where the provider is not available, and nothing is paid", async () => {
    provider.acts = "is away"
    const away = await mail("six")
    expect([away.status, away.body]).toEqual([
      503,
      {
        error: "unavailable",
        message: "The relay is not available now. Nothing was charged; send it again.",
      },
    ])
    expect([await funds(), await open()]).toEqual([50_000_000, 0])
    expect(provider.handed).toHaveLength(1)
    provider.acts = "makes it"
    expect(await mail("six")).toMatchObject({ status: 201, body: { name: "a" } })
    await world.operate("wait")
    expect(provider.handed).toHaveLength(2)
    expect([await funds(), await open()]).toEqual([50_000_000 - MAIL_PRICE, 0])
  })

  it("is carried out once, however often it is sent meanwhile", async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const handed = Promise.withResolvers<void>()
    provider.holds = promise
    provider.onHanded = handed.resolve
    const first = mail("five")
    await handed.promise
    // Asked for by the same key, it is the same request: told that it is being carried out.
    expect(await mail("five")).toMatchObject({ status: 409, body: { error: "conflict" } })
    const [name = ""] = provider.handed
    const row = { kind: "mail-thing", name, subject: name, companyId: company.companyId }
    // Whoever else would do it finds its row there, and leaves it to whoever has it.
    const { signal } = new AbortController()
    expect(await world.ports.doNow({ ...row, payload: {}, dueAt: 0 }, signal)).toBe(false)
    resolve()
    expect(await first).toMatchObject({ status: 201 })
    expect(provider.handed).toHaveLength(1)
  })
})

describe("a call that waits while its process stops", () => {
  it("is told so before its connection is closed, and the next process goes on at once", async () => {
    const handed = Promise.withResolvers<void>()
    provider.onHanded = handed.resolve
    // The relay never answers this one, and the next one late.
    provider.holds = new Promise(() => undefined)
    const mail = () =>
      world.call(company.key, "POST", `${URL}/mailed`, {
        body: { name: "a" },
        headers: { "idempotency-key": "stopped" },
      })
    const waiting = mail()
    await handed.promise
    const [again, late] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    provider.onHanded = again.resolve
    provider.holds = late.promise
    const stopped = world.restart()
    const told = await waiting
    expect(told).toMatchObject({ status: 503, body: { error: "unavailable" } })
    expect(told.body.message).toContain("Nobody knows yet whether this was charged")
    expect(told.body.chargeId).toMatch(/^chg_/)
    world = await stopped
    await again.promise
    // As if the first had not been a try.
    expect(await rows("mail-thing")).toMatchObject([
      { attempts: 1, process_id: expect.any(String) },
    ])
    late.resolve()
    await world.operate("wait")
    expect(provider.handed).toHaveLength(2)
    expect(await mail()).toMatchObject({ status: 201, body: { name: "a" } })
    expect(provider.handed).toHaveLength(2)
  })
})

describe("work that takes long", () => {
  it("is let go at a stop as if it had not been tried, and taken up by who comes next", async () => {
    const first = Promise.withResolvers<void>()
    begun = first.resolve
    const { companyId } = company
    await world.operate("funds add", { company: companyId, dollars: "1", reference: "long" })
    await first.promise
    expect(await rows("take-long")).toEqual([{ attempts: 1, process_id: expect.any(String) }])
    const second = Promise.withResolvers<void>()
    begun = second.resolve
    world = await world.restart()
    await second.promise
    expect(await rows("take-long")).toEqual([{ attempts: 1, process_id: expect.any(String) }])
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
  it("has nothing that is charged and that nobody reconciles", () => {
    const { reconciled: _without, ...slice } = pretendedSlice(provider)
    expect(() => assemble([slice])).toThrow("charges for thing_…, and no slice brings")
  })

  it("has no name of a route twice, no odd one, and no group without a page", () => {
    const [thing] = routesIn(pretendedSlice(provider).routes ?? [])
    const named = (name: string, group = "here") => ({ ...(thing as Route), name, group })
    const made = (...names: string[]) => ({
      name: "c",
      groups: { here: "Here." },
      routes: names.map((name, i) => ({ ...named(name), url: `/${i}` })),
    })
    const others = pretendedSlice(provider)
    expect(() => assemble([others, made("askIt", "askIt")])).toThrow("name of a route askIt")
    for (const odd of ["AskIt", "ask_it", "ask it", ""]) {
      expect(() => assemble([others, made(odd)])).toThrow("is no name of a route, such as sendText")
    }
    const strange = { name: "c", routes: [{ ...named("askIt", "there"), url: "/0" }] }
    expect(() => assemble([others, strange])).toThrow("askIt is of the group there, and no slice")
    expect(() => assemble([others, made("askIt")])).not.toThrow()
  })
})
