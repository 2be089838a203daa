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

/** The company's text charges, spent funds and pending jobs. */
async function companyState() {
  const { companyId } = company
  const lines = await textChargeLinesOf(world, companyId)
  return {
    charges: lines.map(({ kind, state, amount_micros }) => [kind, state, amount_micros]),
    spent:
      FUNDS -
      (await fundsMicrosOf(world, { companyId })) -
      (await callChargesMicros(world, companyId)),
    jobs: (await pendingJobsOf(world, companyId)).map(({ kind }) => kind).toSorted(),
  }
}

const PENDING = {
  charges: [["charge", "open", -SEGMENT_MICROS]],
  spent: SEGMENT_MICROS,
  jobs: ["ask-text", "reconcile-charge"],
}
const SETTLED = { charges: [["charge", "final", -SEGMENT_MICROS]], spent: SEGMENT_MICROS, jobs: [] }
const REFUNDED = {
  charges: [
    ["charge", "given_back", -SEGMENT_MICROS],
    ["give_back", null, SEGMENT_MICROS],
  ],
  spent: 0,
  jobs: [],
}

describe("the charge of an accepted text", () => {
  it("is settled", async () => {
    const id = await sendTextForId(world, company)
    expect(await messageRowOf(world, id)).toMatchObject({ status: "sent", error_code: null })
    expect(await companyState()).toEqual(SETTLED)
  })

  it("is settled when a slow carrier answers", async () => {
    await setCarrierOutcome(world, "slow", 1)
    const id = await sendTextForId(world, company)
    expect(await messageRowOf(world, id)).toMatchObject({ status: "sent" })
    expect(await companyState()).toEqual(SETTLED)
  })

  it("is not refunded if the text cannot be delivered", async () => {
    await setCarrierOutcome(world, "undelivered", 1)
    const id = await sendTextForId(world, company)
    const undelivered = { status: "failed", error_code: "30003" }
    await expect.poll(() => messageRowOf(world, id)).toMatchObject(undelivered)
    expect(await companyState()).toEqual(SETTLED)
  })

  it("stays settled when the text is delivered, which is recorded once", async () => {
    const id = await sendTextForId(world, company)
    await world.operate("wait")
    for (const status of ["delivered", "failed", "delivered"]) {
      const delivery = await world.operate("carrier deliver", { messageId: id, status })
      expect(delivery).toEqual({ messageId: id, status: "delivered" })
    }
    expect(await messageRowOf(world, id)).toMatchObject({ status: "delivered", error_code: null })
    expect(await recipientFactTypes(world, company.companyId)).toEqual([
      "TextQueued",
      "TextAccepted",
      "TextDelivered",
    ])
    expect(await companyState()).toEqual(SETTLED)
  })
})

describe("a text that the carrier rejects", () => {
  it("is refunded once", async () => {
    await setCarrierOutcome(world, "reject", 1)
    const id = await sendTextForId(world, company)
    expect(await messageRowOf(world, id)).toMatchObject({ status: "failed", error_code: "30007" })
    expect(await companyState()).toEqual(REFUNDED)
    const late = await world.operate("carrier deliver", { messageId: id, status: "delivered" })
    expect(late.status).toBe("rejected")
    expect(await companyState()).toEqual(REFUNDED)
  })

  it("does not count as the first text: the next one has the opt-out line", async () => {
    await setCarrierOutcome(world, "reject", 1)
    await sendTextForId(world, company)
    await world.operate("wait")
    const next = await messageRowOf(world, await sendTextForId(world, company))
    expect(next).toMatchObject({ status: "sent", body: "Hi\nReply STOP to opt out." })
  })
})

describe("an unavailable carrier", () => {
  it("is called again and gets the text once", async () => {
    const sending = vi.spyOn(world.ports.carrier, "send")
    await setCarrierOutcome(world, "unavailable", 2)
    const id = await sendTextForId(world, company)
    const isSent = async () => (await messageRowOf(world, id)).status === "sent"
    await expect.poll(isSent, { interval: 50 }).toBe(true)
    expect(sending.mock.calls.map(([text]) => text.textId)).toEqual([id, id, id])
    expect(await companyState()).toEqual(SETTLED)
  })

  it("delays the texts to one recipient in order, but not an operator's `wait`", async () => {
    await setCarrierOutcome(world, "unavailable")
    const first = await sendTextForId(world, company)
    const second = await sendTextForId(world, company)
    // `wait` ends although both texts wait for the backoff of the first one.
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

describe("a carrier that does not answer", () => {
  it("leaves the charge pending; the status is checked after a minute and the text not sent again", async () => {
    const sending = vi.spyOn(world.ports.carrier, "send")
    await setCarrierOutcome(world, "silent", 1)
    const id = await sendTextForId(world, company)
    expect(await messageRowOf(world, id)).toMatchObject({ status: "queued" })
    expect(await companyState()).toEqual(PENDING)
    await world.operate("clock advance", { duration: "59s" })
    expect(await companyState()).toEqual(PENDING)
    await world.operate("clock advance", { duration: "1s" })
    expect(await messageRowOf(world, id)).toMatchObject({ status: "sent" })
    expect(await companyState()).toEqual(SETTLED)
    expect(sending).toHaveBeenCalledTimes(1)
  })

  it("about one text does not block the next text to the same recipient", async () => {
    await setCarrierOutcome(world, "silent", 1)
    const unanswered = await sendTextForId(world, company)
    await world.operate("wait")
    const next = await sendTextForId(world, company)
    expect(await messageRowOf(world, next)).toMatchObject({ status: "sent" })
    expect(await messageRowOf(world, unanswered)).toMatchObject({ status: "queued" })
  })

  it("and never got the text causes a refund after ten minutes and not before", async () => {
    await setCarrierOutcome(world, "silent", 1)
    const id = await sendTextForId(world, company)
    await world.operate("wait")
    await sql`delete from ledger.simulated_records where name = ${id}`.execute(world.ports.readAll)
    await world.operate("clock advance", { duration: "599s" })
    expect(await companyState()).toEqual(PENDING)
    await world.operate("clock advance", { duration: "1s" })
    expect(await messageRowOf(world, id)).toMatchObject({
      status: "failed",
      error_code: "unknown_to_carrier",
    })
    expect(await companyState()).toEqual(REFUNDED)
  })

  it("is asked again after 1, 5 and 30 minutes, then hourly; the job is stuck after 72 hours", async () => {
    const checkedAt: number[] = []
    const begin = world.ports.clock.now()
    silenceStatusChecks(world, () => checkedAt.push((world.ports.clock.now() - begin) / 60_000))
    await setCarrierOutcome(world, "silent", 1)
    const id = await sendTextForId(world, company)
    await world.operate("clock advance", { duration: "259199s" })
    expect(checkedAt.slice(0, 6)).toEqual([1, 5, 30, 90, 150, 210])
    expect(await companyState()).toEqual(PENDING)
    await world.operate("clock advance", { duration: "1s" })
    expect(checkedAt.at(-1)).toBe(72 * 60)
    expect(await companyState()).toEqual(PENDING)
    const stuck = (await pendingJobsOf(world, company.companyId)).filter(
      (row) => row.stuck !== null,
    )
    expect(stuck).toMatchObject([
      { kind: "ask-text", stuck: "the carrier has given no outcome for this text in 72 hours" },
    ])
    vi.restoreAllMocks()
    await world.operate("job retry", { jobId: stuck[0]?.jobId })
    expect(await messageRowOf(world, id)).toMatchObject({ status: "sent" })
    expect((await companyState()).charges).toEqual(SETTLED.charges)
  })

  it("but reports the delivery settles the charge by that report", async () => {
    await setCarrierOutcome(world, "silent", 1)
    const id = await sendTextForId(world, company)
    await world.operate("wait")
    const delivery = await world.operate("carrier deliver", { messageId: id, status: "failed" })
    expect(delivery.status).toBe("undelivered")
    expect(await recipientFactTypes(world, company.companyId)).toEqual([
      "TextQueued",
      "TextAccepted",
      "TextUndelivered",
    ])
    expect((await companyState()).charges).toEqual(SETTLED.charges)
    await world.operate("clock advance", { duration: "1m" })
    expect(await messageRowOf(world, id)).toMatchObject({ status: "failed", error_code: "30003" })
    expect(await companyState()).toEqual(SETTLED)
  })
})

describe("a free reply", () => {
  it("is not charged, and not refunded if the carrier rejects it", async () => {
    const from = await messageRowOf(world, await sendTextForId(world, company))
    await setCarrierOutcome(world, "reject", 1)
    await world.operate("carrier text-in", {
      from: TEXT_RECIPIENT,
      to: from.from_number,
      body: "help",
    })
    expect(await companyState()).toEqual(SETTLED)
    expect(await recipientFactTypes(world, company.companyId)).toEqual([
      "TextQueued",
      "TextAccepted",
      "TextReceived",
      "TextQueued",
      "TextRejected",
    ])
  })
})
