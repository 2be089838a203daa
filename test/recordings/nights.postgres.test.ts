/** The nightly work: old recordings are deleted, stored minutes are counted and charged, each day once. */
import { sql } from "kysely"
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { chargeStoredMinutes, expireRecordings } from "../../src/recordings/reactions.ts"
import {
  ledgerFactsOf,
  advanceWithoutWorkers,
  spend,
  executeLedgerCommand,
} from "../effects/spending.ts"
import { jobOf, pendingJobsOf } from "../effects/texts.ts"
import type { Company, World } from "../support/world.ts"
import { fundsMicrosOf, makeCallsFree, makeCompany, openWorld, setLimit } from "../support/world.ts"
import {
  RECORDINGS_PATH,
  listRecordingsOf,
  fetchRecording,
  storeRecording,
  removeRecording,
} from "./recording-world.ts"

let world: World
let company: Company
let month = 0
beforeAll(async () => {
  world = await openWorld("time", { rateLimits: "off" })
  await makeCallsFree(world)
})
// Each test has its own month.
beforeEach(async () => {
  month += 1
  await world.operate("clock set", { to: at("01", "12:00:00") })
  company = await makeCompany(world, { funds: "10" })
})
afterAll(() => world.close())

const at = (day: string, time: string) => `2040-${String(month).padStart(2, "0")}-${day}T${time}Z`
const dayOf = (day: string) => at(day, "").slice(0, 10)
const PRICE = 20

/** Charges for storage: the day, its minutes, and the amount in micros. */
async function storageCharges() {
  const facts = await ledgerFactsOf(world, company.companyId, "Charged")
  return facts
    .filter(({ item }) => item === "recording_minute_day")
    .map(({ chargeId, quantity, amountMicros }) => [
      chargeId.replace(`${company.companyId}:recordings:`, ""),
      quantity,
      amountMicros,
    ])
}

const keepFor = (days: number | null) =>
  world.call(company.key, "PUT", `${RECORDINGS_PATH}/keep`, { body: { days } })

describe("the nightly work", () => {
  it("runs ten minutes after midnight and charges the company for its stored minutes", async () => {
    await storeRecording(world, company, { seconds: 61 })
    await storeRecording(world, company, { seconds: 59, kind: "voicemail" })
    await world.operate("clock set", { to: at("02", "00:09:59.999") })
    expect(await storageCharges()).toEqual([])
    await world.operate("clock set", { to: at("02", "00:10:00") })
    expect(await storageCharges()).toEqual([[dayOf("01"), 3, 3 * PRICE]])
    const [charge] = (await ledgerFactsOf(world, company.companyId, "Charged")).slice(-1)
    expect(charge).toMatchObject({
      via: "company",
      keyId: null,
      personId: null,
      class: "general",
      isPending: false,
      exemption: "funds_while_above_zero",
      resource: null,
      isExternalId: true,
      dueAt: Date.parse(at("02", "00:00:00")),
      servedFrom: Date.parse(at("01", "00:00:00")),
    })
    await world.operate("clock set", { to: at("04", "12:00:00") })
    expect(await storageCharges()).toEqual(
      ["01", "02", "03"].map((day) => [dayOf(day), 3, 3 * PRICE]),
    )
    expect(await fundsMicrosOf(world, company)).toBe(10_000_000 - 9 * PRICE)
  })

  it("counts recordings stored by the end of the day, and stops when none is left", async () => {
    const first = await storeRecording(world, company, { seconds: 60 })
    await world.operate("clock set", { to: at("02", "00:05:00") })
    const second = await storeRecording(world, company, { seconds: 120 })
    await world.operate("clock set", { to: at("02", "12:00:00") })
    expect(await storageCharges()).toEqual([[dayOf("01"), 1, PRICE]])
    await world.operate("clock set", { to: at("03", "12:00:00") })
    await removeRecording(world, company, first)
    await removeRecording(world, company, second)
    await world.operate("clock set", { to: at("06", "12:00:00") })
    expect(await storageCharges()).toEqual([
      [dayOf("01"), 1, PRICE],
      [dayOf("02"), 3, 3 * PRICE],
    ])
    expect(await pendingJobsOf(world, company.companyId)).toEqual([])
    // It starts again with the next recording.
    await storeRecording(world, company, { seconds: 60 })
    await world.operate("clock set", { to: at("07", "12:00:00") })
    expect((await storageCharges()).at(-1)).toEqual([dayOf("06"), 1, PRICE])
  })

  it("first deletes recordings past the retention, counted from the call, without charging them", async () => {
    const now = Date.parse(at("01", "12:00:00"))
    const old = await storeRecording(world, company, { calledAt: now - 29 * 86_400_000 })
    const young = await storeRecording(world, company)
    expect((await keepFor(30)).status).toBe(200)
    await world.operate("clock set", { to: at("02", "12:00:00") })
    expect(await storageCharges()).toEqual([[dayOf("01"), 2, 2 * PRICE]])
    await world.operate("clock set", { to: at("03", "12:00:00") })
    expect((await storageCharges()).at(-1)).toEqual([dayOf("02"), 1, PRICE])
    expect((await listRecordingsOf(world, company)).map(({ id }) => id)).toEqual([young])
    expect((await fetchRecording(world, company, old)).status).toBe(404)
    const { rows } = await sql`select from ledger.blobs where blob_id = ${`${old}-call`}`.execute(
      world.ports.readAll,
    )
    expect(rows).toHaveLength(0)
  })

  it("follows the latest retention setting, and deletes nothing for null", async () => {
    const calledAt = Date.parse(at("01", "12:00:00")) - 29 * 86_400_000
    const callId = await storeRecording(world, company, { calledAt })
    await keepFor(30)
    await keepFor(null)
    await world.operate("clock set", { to: at("04", "12:00:00") })
    expect((await fetchRecording(world, company, callId)).status).toBe(200)
    expect(await storageCharges()).toHaveLength(3)
    await keepFor(30)
    await world.operate("clock set", { to: at("05", "12:00:00") })
    expect((await fetchRecording(world, company, callId)).status).toBe(404)
    expect(await storageCharges()).toHaveLength(3)
  })
})

describe("a nightly charge that the ledger refuses", () => {
  it("because of a limit costs nothing, deletes nothing and is not retried", async () => {
    const callId = await storeRecording(world, company, { seconds: 60 * 60 })
    await setLimit(world, company, { dollars: "0.001" })
    await world.operate("clock set", { to: at("02", "12:00:00") })
    expect(await storageCharges()).toEqual([])
    const { refusals } = await world.operate("refusals list", { company: company.companyId })
    expect(refusals[0]).toMatchObject({
      chargeId: `${company.companyId}:recordings:${dayOf("01")}`,
      code: "spend_limit_reached",
    })
    await setLimit(world, company, { dollars: "5" })
    await world.operate("clock set", { to: at("02", "23:00:00") })
    expect(await storageCharges()).toEqual([])
    expect((await fetchRecording(world, company, callId)).status).toBe(200)
    await world.operate("clock set", { to: at("03", "12:00:00") })
    expect(await storageCharges()).toEqual([[dayOf("02"), 60, 60 * PRICE]])
  })

  it("for lack of funds leaves the funds at most one day below zero", async () => {
    await storeRecording(world, company, { seconds: 60 * 60 })
    await spend(world, company.companyId, { dollars: 9.999_999 })
    await world.operate("clock set", { to: at("05", "12:00:00") })
    expect(await storageCharges()).toEqual([[dayOf("01"), 60, 60 * PRICE]])
    expect(await fundsMicrosOf(world, company)).toBe(1 - 60 * PRICE)
    await world.operate("funds add", { company: company.companyId, dollars: "1" })
    await world.operate("clock set", { to: at("06", "12:00:00") })
    expect((await storageCharges()).map(([day]) => day)).toEqual([dayOf("01"), dayOf("05")])
  })

  it("because the company is closed is never made up for, and charges resume after its restoration", async () => {
    await storeRecording(world, company)
    await executeLedgerCommand(world, company.companyId, { type: "CloseLedger" })
    await world.operate("clock set", { to: at("03", "12:00:00") })
    expect(await storageCharges()).toEqual([])
    await world.operate("company restore", { company: company.companyId })
    await world.operate("clock set", { to: at("04", "12:00:00") })
    expect(await storageCharges()).toEqual([[dayOf("03"), 1, PRICE]])
  })
})

describe("missed nights", () => {
  it("are made up for, each day once and in order", async () => {
    await storeRecording(world, company, { seconds: 60 })
    await advanceWithoutWorkers(world, at("03", "12:00:00"))
    // No worker runs, so the job of this later day exists before those of the days between.
    await storeRecording(world, company, { seconds: 120 })
    await advanceWithoutWorkers(world, at("05", "12:00:00"))
    await world.ports.projector.waitUntilWritten(await world.ports.store.head(), 10_000)
    const names = [dayOf("01"), dayOf("03")].map((day) => `${company.companyId}:${day}`)
    const jobs = await Promise.all(names.map((name) => jobOf(world, "expire-recordings", name)))
    expect(await storageCharges()).toEqual([])
    world = await world.restart()
    await world.operate("clock advance", { duration: "1s" })
    const expected = [
      [dayOf("01"), 1, PRICE],
      [dayOf("02"), 1, PRICE],
      [dayOf("03"), 3, 3 * PRICE],
      [dayOf("04"), 3, 3 * PRICE],
    ]
    expect(await storageCharges()).toEqual(expected)
    for (const job of [...jobs, ...jobs]) {
      expect(await expireRecordings.perform(world.ports, job)).toEqual({ result: "done" })
    }
    const [job] = jobs
    for (const [day, minutes] of expected) {
      const payload = { day: Date.parse(`${String(day)}T00:00:00Z`), minutes }
      const again = { ...(job as NonNullable<typeof job>), payload }
      expect(await chargeStoredMinutes.perform(world.ports, again)).toEqual({ result: "done" })
    }
    await world.operate("wait")
    expect(await storageCharges()).toEqual(expected)
  })

  it("are not counted early: an operator's retry before the end of the day is rejected", async () => {
    await storeRecording(world, company)
    await world.operate("wait")
    const { jobId } = await jobOf(world, "expire-recordings", `${company.companyId}:${dayOf("01")}`)
    await expect(world.operate("job retry", { jobId })).rejects.toThrow("runs automatically at")
    await world.operate("wait")
    expect(await storageCharges()).toEqual([])
    await world.operate("clock set", { to: at("02", "12:00:00") })
    expect(await storageCharges()).toHaveLength(1)
  })
})
