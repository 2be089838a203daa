import { CARRIER_SIMULATOR } from "../../adapters/providers/carrier/simulator.ts"
import { sql } from "kysely"
import { afterAll, describe, expect, it, vi } from "vitest"
import { scaledMs } from "../support/scaled-time.ts"
import { makeCompany, openWorld } from "../support/world.ts"
import { setCarrierOutcome, sendTextForId, silenceStatusChecks, pendingJobsOf } from "./texts.ts"

let world = await openWorld("time")
afterAll(() => world.close())

const now = async () => Date.parse((await world.operate("clock show")).now)

describe("the test clock", () => {
  it("advances from due time to due time, so that every job runs at its own", async () => {
    const company = await makeCompany(world)
    const checkedAt: number[] = []
    const begin = await now()
    silenceStatusChecks(world, () => checkedAt.push(world.ports.clock.now() - begin))
    await setCarrierOutcome(world, "silent")
    await sendTextForId(world, company)
    await world.operate("wait")
    await world.operate("clock advance", { duration: "90s" })
    await sendTextForId(world, company, "+14155550124")
    await world.operate("clock advance", { duration: "1h" })
    expect(checkedAt).toEqual([60, 150, 300, 390, 1_800, 1_890].map((seconds) => seconds * 1_000))
    expect(await now()).toBe(begin + 90_000 + 3_600_000)
    vi.restoreAllMocks()
    await setCarrierOutcome(world, "ok")
    await world.operate("clock advance", { duration: "2h" })
    expect(await pendingJobsOf(world, company.companyId)).toEqual([])
  })

  it("accepts seconds, minutes, hours, days, and a time in any time zone", async () => {
    for (const [duration, ms] of [
      ["1s", 1_000],
      ["2m", 120_000],
      ["3h", 10_800_000],
      ["4d", 345_600_000],
      ["0s", 0],
    ] as const) {
      const before = await now()
      await world.operate("clock advance", { duration })
      expect(await now()).toBe(before + ms)
    }
    const later = new Date((await now()) + 86_400_000).toISOString()
    await world.operate("clock set", { to: later.replace("Z", "+00:00") })
    expect(await now()).toBe(Date.parse(later))
  })

  it("rejects earlier times and invalid ones", async () => {
    const before = await now()
    const back = new Date(before - 1).toISOString()
    await expect(world.operate("clock set", { to: back })).rejects.toMatchObject({
      code: "validation",
      message: expect.stringMatching(/^The clock only moves forward; it is \d{4}-/),
    })
    for (const duration of ["", "5", "m", "-1m", "1.5h", "1w", "1 h"]) {
      await expect(world.operate("clock advance", { duration }), duration).rejects.toMatchObject({
        code: "validation",
      })
    }
    await expect(world.operate("clock advance", { duration: "999999999d" })).rejects.toThrow(
      "The clock can be set to the year 9999 at the latest.",
    )
    await expect(world.operate("clock set", { to: "tomorrow" })).rejects.toThrow(
      "must be a time such as",
    )
    expect(await now()).toBe(before)
  })

  it("survives a restart", async () => {
    await world.operate("clock advance", { duration: "1h" })
    const before = await now()
    world = await world.restart()
    expect(await now()).toBe(before)
  })

  it("cannot be set if the clock is the system's, which is the database's", async () => {
    const real = await openWorld("time", { clock: "system" })
    const { now: shown, clock } = await real.operate("clock show")
    expect(clock).toBe("system")
    const { rows } = await sql<{ ms: number }>`
      select (extract(epoch from clock_timestamp()) * 1000)::bigint as ms`.execute(
      real.ports.readAll,
    )
    expect(Math.abs(Date.parse(shown) - (rows[0]?.ms ?? 0))).toBeLessThan(scaledMs(5_000))
    await expect(real.operate("clock advance", { duration: "1s" })).rejects.toMatchObject({
      code: "conflict",
    })
    await real.close()
  })
})

describe("an incoming text of an operator", () => {
  it("is rejected for an unknown number, or for a company that does not have the number", async () => {
    const company = await makeCompany(world)
    const other = await makeCompany(world)
    const { rows } = await sql<{ number: string }>`
      select number from numbers where company_id = ${company.companyId}`.execute(
      world.ports.readAll,
    )
    const to = rows[0]?.number
    const text = { from: "+14155550123", body: "hi", to }
    const named = { ...text, company: company.companyId }
    expect(await world.operate("carrier text-in", named)).toMatchObject({
      companyId: company.companyId,
      keyword: null,
    })
    const others = { ...text, company: other.companyId }
    await expect(world.operate("carrier text-in", others)).rejects.toMatchObject({
      code: "not_found",
    })
    const unknown = { ...text, to: "+12015559999" }
    await expect(world.operate("carrier text-in", unknown)).rejects.toMatchObject({
      code: "not_found",
    })
    await expect(world.operate("carrier text-in", { ...text, from: "5" })).rejects.toMatchObject({
      code: "bad_number",
    })
    const deliver = { messageId: "msg_none", status: "delivered" }
    await expect(world.operate("carrier deliver", deliver)).rejects.toMatchObject({
      code: "not_found",
    })
  })
})

describe("a simulator", () => {
  it("has an outcome for a number of calls and then the default outcome again", async () => {
    await world.operate("simulator set", { name: "carrier", outcome: "reject", times: 2 })
    expect((await world.operate("simulator list")).simulators).toMatchObject([
      { name: "carrier", outcome: "reject", times: 2, outcomes: expect.arrayContaining(["ok"]) },
      { name: "voice", outcome: "ok", times: null, outcomes: expect.arrayContaining(["gone"]) },
      { name: "registration", outcome: "ok", outcomes: expect.arrayContaining(["approve"]) },
      { name: "mail", outcome: "ok", times: null, outcomes: expect.arrayContaining(["bounce"]) },
      { name: "dns", outcome: "ok", times: null, outcomes: expect.arrayContaining(["half"]) },
      { name: "places", outcome: "ok", times: null, outcomes: expect.arrayContaining(["none"]) },
      { name: "cards", outcome: "ok", times: null, outcomes: expect.arrayContaining(["declined"]) },
      {
        name: "git",
        outcome: "ok",
        times: null,
        outcomes: expect.arrayContaining(["unavailable"]),
      },
      { name: "boxhost", outcome: "ok", times: null, outcomes: expect.arrayContaining(["lost"]) },
      { name: "publish", outcome: "ok", times: null, outcomes: expect.arrayContaining(["off"]) },
    ])
    const next = () => world.ports.simulators.nextOutcome(CARRIER_SIMULATOR)
    expect([await next(), await next(), await next()]).toEqual(["reject", "reject", "ok"])
    expect((await world.operate("simulator list")).simulators).toMatchObject([
      { name: "carrier", outcome: "ok", times: null },
      { name: "voice", outcome: "ok", times: null },
      { name: "registration", outcome: "ok", times: null },
      { name: "mail", outcome: "ok", times: null },
      { name: "dns", outcome: "ok", times: null },
      { name: "places", outcome: "ok", times: null },
      { name: "cards", outcome: "ok", times: null },
      { name: "git", outcome: "ok", times: null },
      { name: "boxhost", outcome: "ok", times: null },
      { name: "publish", outcome: "ok", times: null },
    ])
    await world.operate("simulator set", { name: "carrier", outcome: "silent" })
    const outcomes = await Promise.all(Array.from({ length: 5 }, next))
    expect(new Set(outcomes)).toEqual(new Set(["silent"]))
    await setCarrierOutcome(world, "slow", 3)
    const counted = await Promise.all(Array.from({ length: 10 }, next))
    expect(counted.filter((outcome) => outcome === "slow")).toHaveLength(3)
    await expect(setCarrierOutcome(world, "explode")).rejects.toThrow(
      'no outcome \\"explode\\"; use ok, ',
    )
    await setCarrierOutcome(world, "ok")
  })
})
