/** The example slice's paid route: things are ordered, charged, made by a provider, settled or refunded, and listed. */
import { beforeEach, describe, expect, it } from "vitest"
import { assemble } from "../../../src/frame/slice.ts"
import { SLICES } from "../../../src/slices.ts"
import type { Company } from "../../support/world.ts"
import {
  fundsMicrosOf,
  makeCallsFree,
  makeCompany,
  ownWorld,
  setLimit,
} from "../../support/world.ts"
import { newSwitchableProvider, sampleSlice } from "../sample-slice.ts"
import { things } from "./slice.ts"

const URL = "/api/v1/things"
const PRICE = 250_000

const provider = newSwitchableProvider()
const program = assemble([...SLICES, things, sampleSlice(provider)])
const world = await ownWorld("settings", { program })
await makeCallsFree(world)
let company: Company
beforeEach(async () => {
  provider.behavior = "makes it"
  company = await makeCompany(world)
})

const order = (name: string, idempotencyKey?: string) =>
  world.call(company.key, "POST", URL, {
    body: { name },
    ...(idempotencyKey === undefined ? {} : { headers: { "idempotency-key": idempotencyKey } }),
  })
const funds = () => fundsMicrosOf(world, company)
const open = async (): Promise<number> =>
  (await world.operate("charge pending", { company: company.companyId })).charges.length

describe("a paid order", () => {
  it("is answered, executed and paid for", async () => {
    const { status, body } = await order("a")
    expect([status, body]).toEqual([202, { id: expect.stringMatching(/^thing_/), name: "a" }])
    await world.operate("wait")
    expect(provider.made.has(body.id)).toBe(true)
    expect([await funds(), await open()]).toEqual([50_000_000 - PRICE, 0])
  })

  it("is listed with its outcome", async () => {
    const { body } = await order("a")
    await world.operate("wait")
    const listed = await world.call(company.key, "GET", URL)
    expect(listed.body.things).toEqual([
      { id: body.id, name: "a", outcome: "made", orderedAt: expect.any(String) },
    ])
  })

  it("costs nothing if it is rejected before the charge or by the company's stream", async () => {
    expect(await order("nothing")).toMatchObject({ status: 409 })
    await order("a")
    expect(await order("a")).toMatchObject({
      status: 409,
      body: { message: "The company has a thing of this name." },
    })
    await world.operate("wait")
    expect([await funds(), await open()]).toEqual([50_000_000 - PRICE, 0])
  })

  it("is refunded if the provider rejects it", async () => {
    provider.behavior = "refuses it"
    expect(await order("a")).toMatchObject({ status: 202 })
    await world.operate("wait")
    expect([await funds(), await open()]).toEqual([50_000_000, 0])
  })

  it("is found by a status check if the provider did not answer, and paid for", async () => {
    provider.behavior = "is silent"
    await order("a")
    await world.operate("wait")
    expect([await funds(), await open()]).toEqual([50_000_000 - PRICE, 1])
    await world.operate("clock advance", { duration: "1m" })
    expect([await funds(), await open()]).toEqual([50_000_000 - PRICE, 0])
  })

  it("is made once if the request is sent again", async () => {
    const first = await order("a", "the same")
    const again = await order("a", "the same")
    expect(again.body).toEqual(first.body)
    expect(again.headers["idempotency-replayed"]).toBe("true")
    await world.operate("wait")
    expect(await funds()).toBe(50_000_000 - PRICE)
  })

  it("is rejected if it exceeds a limit", async () => {
    await setLimit(world, company, { dollars: "0.10" })
    expect(await order("a")).toMatchObject({ status: 429, body: { error: "spend_limit_reached" } })
    expect(await funds()).toBe(50_000_000)
  })

  it("ends with its company and is refunded", async () => {
    provider.behavior = "is away"
    await order("a")
    await world.operate("company delete", { company: company.companyId })
    await world.operate("clock advance", { duration: "15d" })
    const { charges } = await world.operate("charge pending")
    expect(charges).toEqual([])
    const { jobs } = await world.operate("job list")
    expect(jobs.filter(({ kind }: { kind: string }) => kind === "make-thing")).toEqual([])
  })
})
