import { sql } from "kysely"
import { beforeEach, describe, expect, it, vi } from "vitest"
import type { Company } from "../support/world.ts"
import { fundsMicrosOf, makeCompany, ownWorld } from "../support/world.ts"
import {
  SEGMENT_MICROS,
  TEXT_RECIPIENT,
  setCarrierOutcome,
  recipientFactTypes,
  textChargeLinesOf,
  messageRowOf,
  callChargesMicros,
  sendTextForId,
  silenceStatusChecks,
  pendingJobsOf,
} from "./texts.ts"

const FUNDS = 50_000_000

const world = await ownWorld("time")
let company: Company
beforeEach(async () => {
  company = await makeCompany(world)
  await setCarrierOutcome(world, "ok")
})

/** The charge's state, the funds that are gone, and what work is left. */
async function standing() {
  const { companyId } = company
  const lines = await textChargeLinesOf(world, companyId)
  return {
    charges: lines.map(({ kind, state, amount_micros }) => [kind, state, amount_micros]),
    spent:
      FUNDS -
      (await fundsMicrosOf(world, { companyId })) -
      (await callChargesMicros(world, companyId)),
    work: (await pendingJobsOf(world, companyId)).map(({ kind }) => kind).toSorted(),
  }
}

const OPEN = {
  charges: [["charge", "open", -SEGMENT_MICROS]],
  spent: SEGMENT_MICROS,
  work: ["ask-text", "reconcile-charge"],
}
const FINAL = { charges: [["charge", "final", -SEGMENT_MICROS]], spent: SEGMENT_MICROS, work: [] }
const GIVEN_BACK = {
  charges: [
    ["charge", "given_back", -SEGMENT_MICROS],
    ["give_back", null, SEGMENT_MICROS],
  ],
  spent: 0,
  work: [],
}

describe("a carrier that takes a text", () => {
  it("ends its charge", async () => {
    const id = await sendTextForId(world, company)
    expect(await messageRowOf(world, id)).toMatchObject({ status: "sent", error_code: null })
    expect(await standing()).toEqual(FINAL)
  })

  it("slowly, ends its charge when it is through", async () => {
    await setCarrierOutcome(world, "slow", 1)
    const id = await sendTextForId(world, company)
    expect(await messageRowOf(world, id)).toMatchObject({ status: "sent" })
    expect(await standing()).toEqual(FINAL)
  })

  it("and cannot deliver it, changes the status and gives nothing back", async () => {
    await setCarrierOutcome(world, "undelivered", 1)
    const id = await sendTextForId(world, company)
    const undelivered = { status: "failed", error_code: "30003" }
    await expect.poll(() => messageRowOf(world, id)).toMatchObject(undelivered)
    expect(await standing()).toEqual(FINAL)
  })

  it("and delivers it later, is told once", async () => {
    const id = await sendTextForId(world, company)
    await world.operate("wait")
    for (const status of ["delivered", "failed", "delivered"]) {
      const told = await world.operate("carrier deliver", { messageId: id, status })
      expect(told).toEqual({ messageId: id, status: "delivered" })
    }
    expect(await messageRowOf(world, id)).toMatchObject({ status: "delivered", error_code: null })
    expect(await recipientFactTypes(world, company.companyId)).toEqual([
      "TextQueued",
      "TextAccepted",
      "TextDelivered",
    ])
    expect(await standing()).toEqual(FINAL)
  })
})

describe("a carrier that refuses a text", () => {
  it("gives its charge back, once", async () => {
    await setCarrierOutcome(world, "reject", 1)
    const id = await sendTextForId(world, company)
    expect(await messageRowOf(world, id)).toMatchObject({ status: "failed", error_code: "30007" })
    expect(await standing()).toEqual(GIVEN_BACK)
    const late = await world.operate("carrier deliver", { messageId: id, status: "delivered" })
    expect(late.status).toBe("rejected")
    expect(await standing()).toEqual(GIVEN_BACK)
  })

  it("leaves the next text the first one, with the opt-out line", async () => {
    await setCarrierOutcome(world, "reject", 1)
    await sendTextForId(world, company)
    await world.operate("wait")
    const next = await messageRowOf(world, await sendTextForId(world, company))
    expect(next).toMatchObject({ status: "sent", body: "Hi\nReply STOP to opt out." })
  })
})

describe("a carrier that is not there", () => {
  it("is tried again, and gets the text once", async () => {
    const sending = vi.spyOn(world.ports.carrier, "send")
    await setCarrierOutcome(world, "unavailable", 2)
    const id = await sendTextForId(world, company)
    const isSent = async () => (await messageRowOf(world, id)).status === "sent"
    await expect.poll(isSent, { interval: 50 }).toBe(true)
    expect(sending.mock.calls.map(([text]) => text.textId)).toEqual([id, id, id])
    expect(await standing()).toEqual(FINAL)
  })

  it("holds up the texts to one recipient in their order, and nobody who waits for all", async () => {
    await setCarrierOutcome(world, "unavailable")
    const first = await sendTextForId(world, company)
    const second = await sendTextForId(world, company)
    // `wait` ends though both wait out a back-off, the second one the first one's.
    const rows = await pendingJobsOf(world, company.companyId)
    expect(rows.map(({ kind }) => kind).toSorted()).toEqual([
      "reconcile-charge",
      "reconcile-charge",
      "send-text",
      "send-text",
    ])
    const sending = vi.spyOn(world.ports.carrier, "send")
    await setCarrierOutcome(world, "ok")
    const isSent = async () => (await messageRowOf(world, second)).status === "sent"
    await expect.poll(isSent, { interval: 50 }).toBe(true)
    const last = sending.mock.calls.slice(-2).map(([text]) => text.textId)
    expect(last).toEqual([first, second])
  })
})

describe("a carrier that is silent", () => {
  it("leaves the charge open and is asked after a minute, never sent the text again", async () => {
    const sending = vi.spyOn(world.ports.carrier, "send")
    await setCarrierOutcome(world, "silent", 1)
    const id = await sendTextForId(world, company)
    expect(await messageRowOf(world, id)).toMatchObject({ status: "queued" })
    expect(await standing()).toEqual(OPEN)
    await world.operate("clock advance", { duration: "59s" })
    expect(await standing()).toEqual(OPEN)
    await world.operate("clock advance", { duration: "1s" })
    expect(await messageRowOf(world, id)).toMatchObject({ status: "sent" })
    expect(await standing()).toEqual(FINAL)
    expect(sending).toHaveBeenCalledTimes(1)
  })

  it("about one text, blocks no other to the same recipient", async () => {
    await setCarrierOutcome(world, "silent", 1)
    const silent = await sendTextForId(world, company)
    await world.operate("wait")
    const next = await sendTextForId(world, company)
    expect(await messageRowOf(world, next)).toMatchObject({ status: "sent" })
    expect(await messageRowOf(world, silent)).toMatchObject({ status: "queued" })
  })

  it("and never got the text, gives it back after ten minutes and not before", async () => {
    await setCarrierOutcome(world, "silent", 1)
    const id = await sendTextForId(world, company)
    await world.operate("wait")
    await sql`delete from ledger.simulated_records where name = ${id}`.execute(world.ports.readAll)
    await world.operate("clock advance", { duration: "599s" })
    expect(await standing()).toEqual(OPEN)
    await world.operate("clock advance", { duration: "1s" })
    expect(await messageRowOf(world, id)).toMatchObject({
      status: "failed",
      error_code: "unknown_to_carrier",
    })
    expect(await standing()).toEqual(GIVEN_BACK)
  })

  it("also when asked, is asked after 1, 5 and 30 minutes, then hourly, and parked after 72 h", async () => {
    const asked: number[] = []
    const begin = world.ports.clock.now()
    silenceStatusChecks(world, () => asked.push((world.ports.clock.now() - begin) / 60_000))
    await setCarrierOutcome(world, "silent", 1)
    const id = await sendTextForId(world, company)
    await world.operate("clock advance", { duration: "259199s" })
    expect(asked.slice(0, 6)).toEqual([1, 5, 30, 90, 150, 210])
    expect(await standing()).toEqual(OPEN)
    await world.operate("clock advance", { duration: "1s" })
    expect(asked.at(-1)).toBe(72 * 60)
    expect(await standing()).toEqual(OPEN)
    const parked = (await pendingJobsOf(world, company.companyId)).filter(
      (row) => row.stuck !== null,
    )
    expect(parked).toMatchObject([
      { kind: "ask-text", stuck: "the carrier has given no outcome for this text in 72 hours" },
    ])
    vi.restoreAllMocks()
    await world.operate("job retry", { jobId: parked[0]?.jobId })
    expect(await messageRowOf(world, id)).toMatchObject({ status: "sent" })
    expect((await standing()).charges).toEqual(FINAL.charges)
  })

  it("but reports the delivery, ends the charge by that", async () => {
    await setCarrierOutcome(world, "silent", 1)
    const id = await sendTextForId(world, company)
    await world.operate("wait")
    const told = await world.operate("carrier deliver", { messageId: id, status: "failed" })
    expect(told.status).toBe("undelivered")
    expect(await recipientFactTypes(world, company.companyId)).toEqual([
      "TextQueued",
      "TextAccepted",
      "TextUndelivered",
    ])
    expect((await standing()).charges).toEqual(FINAL.charges)
    await world.operate("clock advance", { duration: "1m" })
    expect(await messageRowOf(world, id)).toMatchObject({ status: "failed", error_code: "30003" })
    expect(await standing()).toEqual(FINAL)
  })
})

describe("a free reply", () => {
  it("is sent and charges nothing, and refused by the carrier gives nothing back", async () => {
    const from = await messageRowOf(world, await sendTextForId(world, company))
    await setCarrierOutcome(world, "reject", 1)
    await world.operate("carrier text-in", {
      from: TEXT_RECIPIENT,
      to: from.from_number,
      body: "help",
    })
    expect(await standing()).toEqual(FINAL)
    expect(await recipientFactTypes(world, company.companyId)).toEqual([
      "TextQueued",
      "TextAccepted",
      "TextReceived",
      "TextQueued",
      "TextRejected",
    ])
  })
})
