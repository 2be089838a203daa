import { beforeEach, describe, expect, it } from "vitest"
import { dayStart, monthEnd } from "../../domain/kernel/window.ts"
import type { Company } from "../support/world.ts"
import { makeCompany, sharedWorld } from "../support/world.ts"
import { ask, counted } from "./asking.ts"
import { charging } from "./every-fact.ts"

const DAY = 86_400_000

const world = await sharedWorld({ rateLimits: "off", calls: "free", clock: "forward" })
// The middle of a month, so that a day later is in the same one.
const begin = monthEnd(world.ports.clock.now()) + 9.5 * DAY
await world.operate("clock set", { to: new Date(begin).toISOString() })
let company: Company
beforeEach(async () => {
  company = await makeCompany(world)
})

const days = async (input: object = {}) =>
  world.operate("charge days", { company: company.companyId, ...input })
const nameOf = (at: number) => new Date(at).toISOString().slice(0, 10)

describe("charge days", () => {
  it("are the charges of each UTC day and item, less what came back of them", async () => {
    const day = nameOf(world.ports.clock.now())
    const month = day.slice(0, 7)
    expect(await days()).toEqual({
      month,
      days: [],
      chargedMicros: 0,
      givenBackMicros: 0,
      netMicros: 0,
      charges: 0,
    })
    const { companyId } = company
    const spent = { company: companyId, class: "ai", item: "chat" }
    await world.operate("charge", { ...spent, dollars: "0.5", id: "first" })
    await world.operate("charge", { ...spent, dollars: "0.1", person: company.ownerId })
    await ask(world, company, charging({ chargeId: "chg_text", keyId: company.keyId }))
    await world.operate("clock advance", { duration: "1d" })
    await world.operate("charge", { ...spent, dollars: "0.2" })
    // What comes back a day later is of the day of its charge.
    await world.operate("charge give-back", { chargeId: "first", dollars: "0.3" }, "a test")
    const next = nameOf(world.ports.clock.now())
    const chat = { item: "chat", givenBackMicros: 0 }
    const ofDay = { ...chat, day, chargedMicros: 600_000, charges: 2 }
    const wanted = [
      { ...ofDay, givenBackMicros: 300_000, netMicros: 300_000 },
      {
        day,
        item: "text_segment",
        chargedMicros: 9_000,
        givenBackMicros: 0,
        netMicros: 9_000,
        charges: 1,
      },
      { ...chat, day: next, chargedMicros: 200_000, netMicros: 200_000, charges: 1 },
    ]
    expect(await days({ month })).toEqual({
      month,
      days: wanted,
      chargedMicros: 809_000,
      givenBackMicros: 300_000,
      netMicros: 509_000,
      charges: 4,
    })
    expect((await days({ month, item: "text" })).days).toEqual([wanted[1]])
    expect((await days({ month, class: "general" })).days).toEqual([wanted[1]])
    expect((await days({ month, key: company.keyId })).days).toEqual([wanted[1]])
    expect((await days({ month, person: company.ownerId })).charges).toBe(1)
    expect((await days({ month: "2020-12" })).days).toEqual([])
    await expect(days({ item: "what nobody bought" })).rejects.toMatchObject({ code: "not_found" })
  })

  it("have API calls on the day on which they were made, once they are charged", async () => {
    const served = dayStart(world.ports.clock.now())
    await ask(world, company, counted(company, 5, served))
    const month = nameOf(served).slice(0, 7)
    expect((await days({ month })).days).toEqual([])
    await world.operate("clock advance", { duration: "1d" })
    await world.operate("wait")
    expect((await days({ month })).days).toMatchObject([
      { day: nameOf(served), item: "api_call", chargedMicros: 500, charges: 1 },
    ])
  })
})

describe("a key's last use", () => {
  const used = async () => {
    const { keys } = await world.operate("key list", { company: company.companyId })
    return (keys as readonly { readonly lastUsedAt: string | null }[]).map((one) => one.lastUsedAt)
  }

  it("is that of its newest charge or calls, and what it spent this month beside it", async () => {
    expect(await used()).toEqual([null])
    const { keyId, ownerId: personId } = company
    const called = world.ports.clock.now()
    await ask(world, company, counted(company, 5, dayStart(called)))
    expect(await used()).toEqual([new Date(called).toISOString()])
    await world.operate("clock advance", { duration: "1h" })
    const charged = new Date(world.ports.clock.now()).toISOString()
    await ask(world, company, charging({ chargeId: "chg_1", keyId, personId }))
    expect(await used()).toEqual([charged])
    const { keys } = await world.operate("key list", { company: company.companyId })
    expect(keys).toMatchObject([{ keyId, lastUsedAt: charged, spentThisMonthMicros: 9_500 }])
    await world.operate("clock advance", { duration: "40d" })
    const { keys: later } = await world.operate("key list", { company: company.companyId })
    expect(later).toMatchObject([{ lastUsedAt: charged, spentThisMonthMicros: 0 }])
  })

  it("is of the evening whose calls are counted in the morning after it", async () => {
    const yesterday = dayStart(world.ports.clock.now()) - DAY
    await ask(world, company, counted(company, 1, yesterday))
    expect(await used()).toEqual([new Date(yesterday + DAY - 1).toISOString()])
  })
})
