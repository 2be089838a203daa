import { afterAll, describe, expect, it } from "vitest"
import { closeMonth } from "../../src/charging/reactions.ts"
import { makeCompany, openWorld } from "../support/world.ts"
import { ledgerFactsOf, advanceWithoutWorkers, spend, executeLedgerCommand } from "./spending.ts"
import { jobOf } from "./texts.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { ledgerStreamOf } from "../../domain/charging/aggregates.ts"
import { collectEvents } from "../contracts/event-store-fixture.ts"

let world = await openWorld("time")
afterAll(() => world.close())
await world.operate("clock set", { to: "2040-01-30T12:00:00Z" })

async function closedMonths(companyId: CompanyId) {
  const facts = await ledgerFactsOf(world, companyId, "MonthClosed")
  return facts.map(({ month, at }) => [month, new Date(at).toISOString()])
}

/** The company's jobs: kind, name, due time and reason if stuck. */
async function pendingJobs(companyId: CompanyId) {
  const { jobs } = await world.operate("job list")
  return jobs
    .filter((row: Record<string, unknown>) => row["companyId"] === companyId)
    .map(({ kind, name, dueAt, stuck }: Record<string, string>) => [kind, name, dueAt, stuck])
}

describe("the end of a month", () => {
  it("closes the month of an inactive company, to the millisecond", async () => {
    const { companyId } = await makeCompany(world)
    await world.operate("clock set", { to: "2040-01-31T23:59:59.999Z" })
    expect(await closedMonths(companyId)).toEqual([])
    await world.operate("clock advance", { duration: "1h" })
    expect(await closedMonths(companyId)).toEqual([["2040-01", "2040-02-01T00:00:00.000Z"]])
    const next = ["close-month", `${companyId}:2040-02`, "2040-03-01T00:00:00.000Z", null]
    expect(await pendingJobs(companyId)).toEqual([next])
  })

  it("closes the month of an active company once, by the next charge or by the job", async () => {
    const { companyId } = await makeCompany(world)
    await spend(world, companyId, { dollars: 2 })
    await world.operate("wait")
    const late = await jobOf(world, "close-month", `${companyId}:2040-02`)
    await advanceWithoutWorkers(world, "2040-03-01T00:00:00.000Z")
    await spend(world, companyId, { dollars: 3 })
    const closed = [["2040-02", "2040-03-01T00:00:00.000Z"]]
    expect(await closedMonths(companyId)).toEqual(closed)
    world = await world.restart()
    await world.operate("wait")
    await Promise.all([
      closeMonth.perform(world.ports, late),
      closeMonth.perform(world.ports, late),
    ])
    expect(await closedMonths(companyId)).toEqual(closed)
    expect(await ledgerFactsOf(world, companyId, "MonthClosed")).toMatchObject([
      { addedMicros: 50_000_000, chargedMicros: 2_000_000, fundsMicros: 48_000_000, charges: 1 },
    ])
    const next = ["close-month", `${companyId}:2040-03`, "2040-04-01T00:00:00.000Z", null]
    expect(await pendingJobs(companyId)).toEqual([next])
  })

  it("that no process saw is closed later, each month once", async () => {
    const { companyId } = await makeCompany(world)
    await world.operate("wait")
    await advanceWithoutWorkers(world, "2040-06-02T03:04:05.678Z")
    world = await world.restart()
    await world.operate("clock advance", { duration: "1s" })
    const at = "2040-06-02T03:04:05.678Z"
    expect(await closedMonths(companyId)).toEqual([
      ["2040-03", at],
      ["2040-04", at],
      ["2040-05", at],
    ])
    const next = ["close-month", `${companyId}:2040-06`, "2040-07-01T00:00:00.000Z", null]
    expect(await pendingJobs(companyId)).toEqual([next])
  })

  it("closes the month of a deleted company without funds", async () => {
    const { companyId } = await makeCompany(world, { funds: "0" })
    await executeLedgerCommand(world, companyId, { type: "CloseLedger" })
    await world.operate("clock set", { to: "2040-07-01T00:00:00Z" })
    expect(await closedMonths(companyId)).toEqual([["2040-06", "2040-07-01T00:00:00.000Z"]])
  })
})

describe("the closing of a month as the last fact", () => {
  it("is in the checkpoint of a shutdown, and an audit passes", async () => {
    const { companyId } = await makeCompany(world)
    await world.operate("clock set", { to: "2040-08-01T00:00:01Z" })
    await world.operate("wait")
    const stored = await collectEvents(world.ports.store.read(ledgerStreamOf(companyId).stream))
    expect(stored.at(-1)).toMatchObject({ type: "MonthClosed" })
    world = await world.restart()
    const { checks } = await world.operate("audit verify", { company: companyId })
    expect(checks.filter(({ ok }: { ok: boolean }) => !ok)).toEqual([])
  })
})

describe("a retry of a closing before it is due", () => {
  it("is rejected with the due time, and the month still closes then", async () => {
    const { companyId } = await makeCompany(world)
    await world.operate("clock advance", { duration: "1d" })
    const { jobId } = await jobOf(world, "close-month", `${companyId}:2040-08`)
    await expect(world.operate("job retry", { jobId })).rejects.toMatchObject({
      code: "conflict",
      details: { dueAt: "2040-09-01T00:00:00.000Z" },
    })
    await world.operate("wait")
    expect(await closedMonths(companyId)).toEqual([])
    const job = ["close-month", `${companyId}:2040-08`, "2040-09-01T00:00:00.000Z", null]
    expect(await pendingJobs(companyId)).toEqual([job])
    await world.operate("clock set", { to: "2040-09-01T00:00:00Z" })
    expect(await closedMonths(companyId)).toEqual([["2040-08", "2040-09-01T00:00:00.000Z"]])
  })
})
