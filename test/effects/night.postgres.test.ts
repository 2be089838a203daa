import { afterAll, describe, expect, it } from "vitest"
import type { ApiCallCounter } from "../../domain/charging/ledger-events.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { chargeApiCalls } from "../../src/charging/reactions.ts"
import { fundsMicrosOf, makeCompany, openWorld } from "../support/world.ts"
import {
  ledgerFactsOf,
  recordServedCalls,
  advanceWithoutWorkers,
  executeLedgerCommand,
} from "./spending.ts"
import { jobOf } from "./texts.ts"

let world = await openWorld("time")
afterAll(() => world.close())
await world.operate("clock set", { to: "2040-03-28T12:00:00Z" })

const OWN: ApiCallCounter = { via: "own_key", keyId: "key_own", personId: "per_a", calls: 5 }
const SIGNED: ApiCallCounter = { via: "app_key", keyId: "key_app", personId: "per_b", calls: 7 }
const APP: ApiCallCounter = { via: "app_key", keyId: "key_app", personId: null, calls: 11 }

/** The charges for calls: id, number of calls and amount, in order. */
async function callCharges(companyId: CompanyId) {
  const facts = await ledgerFactsOf(world, companyId, "Charged")
  return facts.map(({ chargeId, quantity, amountMicros }) => [chargeId, quantity, amountMicros])
}

async function pendingJobKinds(companyId: CompanyId): Promise<readonly string[]> {
  const { jobs } = await world.operate("job list")
  return jobs
    .filter((row: Record<string, unknown>) => row["companyId"] === companyId)
    .map((row: { kind: string }) => row.kind)
}

describe("the night", () => {
  it("charges the day's calls of each key and person once", async () => {
    const { companyId } = await makeCompany(world)
    await recordServedCalls(world, companyId, [OWN, SIGNED, APP])
    await recordServedCalls(world, companyId, [OWN])
    await world.operate("clock set", { to: "2040-03-28T23:59:59.999Z" })
    expect(await callCharges(companyId)).toEqual([])
    await world.operate("clock set", { to: "2040-03-29T03:00:00Z" })
    expect(await callCharges(companyId)).toEqual([
      ["key_own:per_a:2040-03-28", 10, 1_000],
      ["key_app:per_b:2040-03-28", 7, 700],
      ["key_app:-:2040-03-28", 11, 1_100],
    ])
    await world.operate("clock advance", { duration: "3d" })
    expect(await callCharges(companyId)).toHaveLength(3)
    expect(await fundsMicrosOf(world, { companyId })).toBe(50_000_000 - 2_800)
    expect(await pendingJobKinds(companyId)).toEqual(["close-month"])
  })

  it("that was missed is made up for, with one charge for each day", async () => {
    const { companyId } = await makeCompany(world)
    for (const day of [1, 2, 3]) {
      await advanceWithoutWorkers(world, `2040-04-0${day}T12:00:00Z`)
      await recordServedCalls(world, companyId, [OWN, { ...APP, calls: day }])
    }
    await advanceWithoutWorkers(world, "2040-04-07T12:00:00Z")
    await world.ports.projector.waitUntilWritten(await world.ports.store.head(), 10_000)
    const rows = await Promise.all(
      [1, 2, 3].map((day) => jobOf(world, "charge-calls", `${companyId}:2040-04-0${day}`)),
    )
    expect(await callCharges(companyId)).toEqual([])
    world = await world.restart()
    await world.operate("clock advance", { duration: "1s" })
    const charged = [1, 2, 3].flatMap((day) => [
      [`key_own:per_a:2040-04-0${day}`, 5, 500],
      [`key_app:-:2040-04-0${day}`, day, day * 100],
    ])
    expect(await callCharges(companyId)).toEqual(charged)
    expect(await ledgerFactsOf(world, companyId, "Charged")).toMatchObject(
      charged.map(() => ({ at: Date.parse("2040-04-07T12:00:00Z"), exemption: "funds" })),
    )
    for (let i = 0; i < 2; i += 1) {
      const again = await Promise.all(rows.map((row) => chargeApiCalls.perform(world.ports, row)))
      expect(again).toEqual(rows.map(() => ({ result: "done" })))
    }
    await world.operate("clock advance", { duration: "3d" })
    expect(await callCharges(companyId)).toEqual(charged)
    expect(await fundsMicrosOf(world, { companyId })).toBe(50_000_000 - 1_500 - 600)
    expect(await pendingJobKinds(companyId)).toEqual(["close-month"])
  })

  it("charges a key's calls once, over a restart and three days", async () => {
    const { companyId, keyId, ownerId, key } = await makeCompany(world)
    const day = new Date(world.ports.clock.now()).toISOString().slice(0, 10)
    const read = async () => (await world.call(key, "GET", "/api/v1/phone/messages")).status
    expect([await read(), await read(), await read()]).toEqual([200, 200, 200])
    world = await world.restart()
    expect(await read()).toBe(200)
    await world.operate("clock advance", { duration: "3d" })
    expect(await callCharges(companyId)).toEqual([[`${keyId}:${ownerId}:${day}`, 4, 400]])
    await world.operate("clock advance", { duration: "3d" })
    expect(await fundsMicrosOf(world, { companyId })).toBe(50_000_000 - 400)
  })

  it("charges more keys than fit into one append", async () => {
    const { companyId } = await makeCompany(world)
    const counters = Array.from({ length: 501 }, (_, i) => ({
      ...OWN,
      keyId: `key_${i}` as const,
      calls: 1,
    }))
    await recordServedCalls(world, companyId, counters)
    await world.operate("clock advance", { duration: "1d" })
    const ids = (await callCharges(companyId)).map(([chargeId]) => chargeId)
    expect(new Set(ids).size).toBe(501)
    expect(ids).toHaveLength(501)
    expect(await fundsMicrosOf(world, { companyId })).toBe(50_000_000 - 501 * 100)
  })

  it("charges a deleted, locked company without funds, because the calls were served", async () => {
    const { companyId } = await makeCompany(world, { funds: "0" })
    await recordServedCalls(world, companyId, [OWN])
    await executeLedgerCommand(world, companyId, { type: "LockAccount" })
    await executeLedgerCommand(world, companyId, { type: "CloseLedger" })
    await world.operate("clock advance", { duration: "1d" })
    expect(await callCharges(companyId)).toHaveLength(1)
    expect(await fundsMicrosOf(world, { companyId })).toBe(-500)
  })

  it("after a month's last day charges in the next month, with the day of the calls", async () => {
    await world.operate("clock set", { to: "2040-04-30T12:00:00Z" })
    const { companyId } = await makeCompany(world)
    await recordServedCalls(world, companyId, [OWN])
    await world.operate("clock set", { to: "2040-05-01T12:00:00Z" })
    const [closed] = await ledgerFactsOf(world, companyId, "MonthClosed")
    expect(closed).toMatchObject({ month: "2040-04", chargedMicros: 0, charges: 0 })
    const [charge] = await ledgerFactsOf(world, companyId, "Charged")
    expect(charge).toMatchObject({ servedFrom: Date.parse("2040-04-30T00:00:00Z") })
    expect(charge?.at).toBeGreaterThanOrEqual(Date.parse("2040-05-01T00:00:00Z"))
  })
})

describe("a retry of the charge for calls before it is due", () => {
  it("is rejected, and the calls are still charged at the end of the day", async () => {
    const { companyId } = await makeCompany(world)
    await recordServedCalls(world, companyId, [OWN])
    await world.operate("wait")
    const day = new Date(world.ports.clock.now()).toISOString().slice(0, 10)
    const { jobId } = await jobOf(world, "charge-calls", `${companyId}:${day}`)
    await expect(world.operate("job retry", { jobId })).rejects.toThrow("runs automatically at")
    await world.operate("wait")
    expect(await callCharges(companyId)).toEqual([])
    expect(await pendingJobKinds(companyId)).toContain("charge-calls")
    await world.operate("clock advance", { duration: "1d" })
    expect(await callCharges(companyId)).toEqual([[`key_own:per_a:${day}`, 5, 500]])
  })
})
