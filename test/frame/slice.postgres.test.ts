/** A paid route that waits for its outcome, long jobs, and the list of slices. */
import { sql } from "kysely"
import { afterAll, beforeEach, describe, expect, it } from "vitest"
import type { Route } from "../../src/frame/routes/declare/route.ts"
import { assemble } from "../../src/frame/slice.ts"
import { SLICES } from "../../src/slices.ts"
import type { Company } from "../support/world.ts"
import { fundsMicrosOf, makeCallsFree, makeCompany, openWorld } from "../support/world.ts"
import { waitingReaction, newSwitchableProvider, sampleSlice } from "./sample-slice.ts"
import { thingList } from "./example/list-things.ts"
import { thing } from "./example/order-thing.ts"
import { things } from "./example/slice.ts"

const URL = "/api/v1/things/now"

const provider = newSwitchableProvider()
let begun = () => undefined as void
const long = { name: "long", reactions: [waitingReaction(() => begun())] }
const program = assemble([...SLICES, things, sampleSlice(provider), long])
let world = await openWorld("settings", { program })
await makeCallsFree(world)
let company: Company
afterAll(() => world.close())
beforeEach(async () => {
  provider.behavior = "makes it"
  provider.dispatchGate = Promise.resolve()
  provider.dispatched.length = 0
  company = await makeCompany(world)
})

const funds = () => fundsMicrosOf(world, company)
const open = async (): Promise<number> =>
  (await world.operate("charge pending", { company: company.companyId })).charges.length
const rows = async (kind: string) => {
  const found = await sql<{ attempts: number; process_id: string | null }>`
    select attempts, process_id from ledger.jobs
    where kind = ${kind} and company_id = ${company.companyId}`.execute(world.ports.readAll)
  return found.rows
}

describe("a call that waits", () => {
  const PRICE = 1_000
  const order = (idempotencyKey: string) =>
    world.call(company.key, "POST", URL, {
      body: { name: "a" },
      headers: { "idempotency-key": idempotencyKey },
    })

  it("is answered with the outcome and executed once, by this process", async () => {
    const { status, body } = await order("one")
    expect([status, body]).toEqual([201, { id: expect.stringMatching(/^thing_/), name: "a" }])
    expect([await funds(), await open()]).toEqual([50_000_000 - PRICE, 0])
    expect((await order("one")).body).toEqual(body)
    await world.operate("wait")
    expect(provider.dispatched).toEqual([body.id])
  })

  it("is rejected if the provider rejects it, and nothing is paid", async () => {
    provider.behavior = "refuses it"
    expect(await order("two")).toMatchObject({ status: 409, body: { error: "conflict" } })
    expect([await funds(), await open()]).toEqual([50_000_000, 0])
  })

  it("has an unknown outcome if the provider does not answer; it is sent again once, then stuck", async () => {
    provider.behavior = "is silent"
    const unknown = await order("three")
    expect(unknown).toMatchObject({ status: 503, body: { error: "unavailable" } })
    expect(unknown.body.chargeId).toMatch(/^chg_/)
    expect([await funds(), await open()]).toEqual([50_000_000 - PRICE, 1])
    await world.operate("clock advance", { duration: "2m" })
    expect(provider.dispatched).toHaveLength(2)
    const { jobs } = await world.operate("job list")
    const stuck = jobs.find(({ kind }: { kind: string }) => kind === "relay-thing")
    expect(stuck.stuck).toBe(
      "the relay may have done this thing, gave no answer, and has no status query",
    )
    await world.operate("clock advance", { duration: "2h" })
    expect(provider.dispatched).toHaveLength(2)
    await world.operate("job discard", { jobId: stuck.jobId }, "the relay lost it")
    expect([await funds(), await open()]).toEqual([50_000_000, 0])
  })

  it("gets a later outcome when it is sent again", async () => {
    provider.behavior = "is silent"
    expect(await order("four")).toMatchObject({ status: 503 })
    provider.behavior = "makes it"
    await world.operate("clock advance", { duration: "2m" })
    expect(await order("four")).toMatchObject({ status: 201, body: { name: "a" } })
    expect(provider.dispatched).toHaveLength(2)
    expect([await funds(), await open()]).toEqual([50_000_000 - PRICE, 0])
  })

  it("is rejected immediately if the provider is unavailable, and nothing is paid", async () => {
    provider.behavior = "is away"
    const away = await order("six")
    expect([away.status, away.body]).toEqual([
      503,
      {
        error: "unavailable",
        message: "The relay is not available now. Nothing was charged; send it again.",
      },
    ])
    expect([await funds(), await open()]).toEqual([50_000_000, 0])
    expect(provider.dispatched).toHaveLength(1)
    provider.behavior = "makes it"
    expect(await order("six")).toMatchObject({ status: 201, body: { name: "a" } })
    await world.operate("wait")
    expect(provider.dispatched).toHaveLength(2)
    expect([await funds(), await open()]).toEqual([50_000_000 - PRICE, 0])
  })

  it("is executed once, even if it is sent again meanwhile", async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const dispatched = Promise.withResolvers<void>()
    provider.dispatchGate = promise
    provider.onDispatched = dispatched.resolve
    const first = order("five")
    await dispatched.promise
    // With the same key it is the same request, which is still running.
    expect(await order("five")).toMatchObject({ status: 409, body: { error: "conflict" } })
    const [name = ""] = provider.dispatched
    const row = { kind: "relay-thing", name, subject: name, companyId: company.companyId }
    // Another process finds the job and leaves it to the process that claimed it.
    const { signal } = new AbortController()
    expect(await world.ports.runJobNow({ ...row, payload: {}, dueAt: 0 }, signal)).toBe(false)
    resolve()
    expect(await first).toMatchObject({ status: 201 })
    expect(provider.dispatched).toHaveLength(1)
  })
})

describe("a call that waits while its process stops", () => {
  it("is answered before its connection closes, and the next process continues immediately", async () => {
    const dispatched = Promise.withResolvers<void>()
    provider.onDispatched = dispatched.resolve
    // The relay never answers the first call, and answers the next one late.
    provider.dispatchGate = new Promise(() => undefined)
    const order = () =>
      world.call(company.key, "POST", URL, {
        body: { name: "a" },
        headers: { "idempotency-key": "stopped" },
      })
    const waiting = order()
    await dispatched.promise
    const [again, late] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    provider.onDispatched = again.resolve
    provider.dispatchGate = late.promise
    const stopped = world.restart()
    const answer = await waiting
    expect(answer).toMatchObject({ status: 503, body: { error: "unavailable" } })
    expect(answer.body.message).toContain("It is not known yet whether this was charged")
    expect(answer.body.chargeId).toMatch(/^chg_/)
    world = await stopped
    await again.promise
    // The first attempt does not count.
    expect(await rows("relay-thing")).toMatchObject([
      { attempts: 1, process_id: expect.any(String) },
    ])
    late.resolve()
    await world.operate("wait")
    expect(provider.dispatched).toHaveLength(2)
    expect(await order()).toMatchObject({ status: 201, body: { name: "a" } })
    expect(provider.dispatched).toHaveLength(2)
  })
})

describe("a long job", () => {
  it("is released at a stop without counting as an attempt, and the next process runs it", async () => {
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
    ["route", { name: "b", routes: sampleSlice(provider).routes ?? [] }],
    ["reaction", { name: "b", reactions: [waitingReaction(() => undefined)] }],
    ["slice", { name: "pretended" }],
    ["reconciled prefix", { name: "b", reconciliations: [{ ...thing.reconciliation }] }],
  ] as const)("is rejected with a duplicate %s", ([part, duplicate]) => {
    const slices = [sampleSlice(provider), long, duplicate]
    expect(() => assemble(slices)).toThrow(`two slices contribute the ${part}`)
  })

  it("is rejected with a duplicate or invalid route name, or a group without a description", () => {
    const named = (name: string, group = "here"): Route => ({ ...thingList, name, group })
    const made = (...names: string[]) => ({
      name: "c",
      groups: { here: "Here." },
      routes: names.map((name, i) => ({ ...named(name), url: `/${i}` })),
    })
    const others = sampleSlice(provider)
    expect(() => assemble([others, made("askIt", "askIt")])).toThrow("name of a route askIt")
    for (const odd of ["AskIt", "ask_it", "ask it", ""]) {
      expect(() => assemble([others, made(odd)])).toThrow(
        "is not a valid route name; use camel case, such as sendText",
      )
    }
    const strange = { name: "c", routes: [{ ...named("askIt", "there"), url: "/0" }] }
    expect(() => assemble([others, strange])).toThrow(
      "askIt is in the group there, which no slice describes",
    )
    expect(() => assemble([others, made("askIt")])).not.toThrow()
  })
})
