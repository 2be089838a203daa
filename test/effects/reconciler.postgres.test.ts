import { ledgerStreamOf } from "../../domain/charging/aggregates.ts"
import { recipientStreamOf } from "../../domain/phone/aggregates.ts"
import { sql } from "kysely"
import { beforeEach, describe, expect, it, vi } from "vitest"
import { locatedResource } from "../../domain/kernel/resource.ts"
import type { MessageId, NumberId } from "../../domain/phone/ids.ts"
import { causedBy } from "../../src/frame/kernel/envelope.ts"
import type { Reaction } from "../../src/frame/effects/reaction.ts"
import { reconciler } from "../../src/frame/effects/reconcile.ts"
import { openCompany } from "../../src/company/reactions/open-company.ts"
import { paidText, textJobs } from "../../src/phone/send-text.ts"
import { collectEvents } from "../contracts/event-store-fixture.ts"
import type { Company } from "../support/world.ts"
import { fundsMicrosOf, makeCompany, ownWorld } from "../support/world.ts"
import { SEGMENT_MICROS, TEXT_RECIPIENT, setCarrierOutcome, recipientFactTypes } from "./texts.ts"
import { textChargeLinesOf, messageRowOf, jobOf, sendTextForId, pendingJobsOf } from "./texts.ts"

const [sendText, askText] = textJobs as readonly [Reaction, Reaction]
const endCharge = reconciler([paidText.reconciliation])

const world = await ownWorld("time")
let company: Company
beforeEach(async () => {
  company = await makeCompany(world)
  await setCarrierOutcome(world, "ok")
})

const cause = causedBy("test")
const view = () => undefined

/** Makes a pending charge, as left by a process that dies before it queues the text. */
async function chargeOnly(messageId: MessageId, resource?: string): Promise<void> {
  const { companyId, keyId, ownerId } = company
  const tag = await world.ports.sealing.tag(companyId, TEXT_RECIPIENT)
  const at = world.ports.clock.now()
  const charged = await world.ports.runner.execute(
    ledgerStreamOf(companyId),
    {
      type: "Charge",
      chargeId: `chg_${messageId}`,
      via: "own_key",
      keyId,
      personId: ownerId,
      class: "general",
      item: "text_segment",
      quantity: 1,
      unitPriceMicros: SEGMENT_MICROS,
      priceVersion: 1,
      amountMicros: SEGMENT_MICROS,
      resource: resource ?? locatedResource(messageId, tag),
      requestedAt: at,
      dueAt: null,
      servedFrom: null,
      isPending: true,
      exemption: null,
      searchedUpTo: null,
    },
    cause,
    view,
  )
  expect(charged.accepted).toBe(true)
}

/** Queues the text of such a charge. */
async function queueText(messageId: MessageId, numberId: NumberId = "num_none") {
  const { companyId } = company
  const { sealing, runner } = world.ports
  const tag = await sealing.tag(companyId, TEXT_RECIPIENT)
  const seal = (text: string) => sealing.seal(companyId, tag, text)
  const withoutOptOutLine = { body: await seal("Hi"), segments: 1, amountMicros: SEGMENT_MICROS }
  return runner.execute(
    recipientStreamOf(companyId, tag),
    {
      type: "QueueText",
      messageId,
      chargeId: `chg_${messageId}`,
      chargedMicros: SEGMENT_MICROS,
      numberId,
      to: await seal(TEXT_RECIPIENT),
      withoutOptOutLine,
      withOptOutLine: null,
      keyId: null,
      personId: null,
    },
    cause,
    view,
  )
}

describe("a charge whose text was never queued", () => {
  it("is refunded after ten minutes, and its text can never be queued", async () => {
    await chargeOnly("msg_lost")
    await world.operate("clock advance", { duration: "599s" })
    expect(await textChargeLinesOf(world, company.companyId)).toMatchObject([{ state: "open" }])
    await world.operate("clock advance", { duration: "1s" })
    expect(await textChargeLinesOf(world, company.companyId)).toMatchObject([
      { kind: "charge", state: "given_back" },
      { kind: "give_back", amount_micros: SEGMENT_MICROS, note: "the text was never queued" },
    ])
    expect(await fundsMicrosOf(world, company)).toBe(50_000_000)
    expect(await recipientFactTypes(world, company.companyId)).toEqual(["TextAbandoned"])
    const late = await queueText("msg_lost")
    expect(late).toMatchObject({ accepted: false, refusal: { code: "text_abandoned" } })
    expect(await pendingJobsOf(world, company.companyId)).toEqual([])
  })

  it("is not refunded if the text was queued a moment before", async () => {
    await chargeOnly("msg_late")
    const begin = world.ports.clock.now()
    await world.operate("clock advance", { duration: "599s" })
    const job = await jobOf(world, "reconcile-charge", "chg_msg_late")
    await setCarrierOutcome(world, "silent")
    const { rows } = await sql<{ id: NumberId }>`
      select number_id as id from numbers where company_id = ${company.companyId}`.execute(
      world.ports.readAll,
    )
    expect((await queueText("msg_late", rows[0]?.id)).accepted).toBe(true)
    const dueAt = begin + 599_000 + 3_600_000
    expect(await endCharge.perform(world.ports, job)).toEqual({ result: "rescheduled", dueAt })
    expect(await textChargeLinesOf(world, company.companyId)).toMatchObject([{ state: "open" }])
    await world.operate("clock advance", { duration: "1h" })
    expect(await textChargeLinesOf(world, company.companyId)).toMatchObject([{ state: "final" }])
  })

  it("is refunded if the text's number or content was erased", async () => {
    await chargeOnly("msg_erased")
    expect((await queueText("msg_erased")).accepted).toBe(true)
    expect(await textChargeLinesOf(world, company.companyId)).toMatchObject([
      { kind: "charge", state: "given_back" },
      { kind: "give_back", note: "the carrier rejected the text" },
    ])
    expect(await recipientFactTypes(world, company.companyId)).toEqual([
      "TextQueued",
      "TextRejected",
    ])
  })

  it("leaves a stuck job if no slice knows the charged resource", async () => {
    await chargeOnly("msg_other", "thing_1234")
    await world.operate("clock advance", { duration: "10m" })
    expect(await pendingJobsOf(world, company.companyId)).toMatchObject([
      { kind: "reconcile-charge", stuck: "no slice can reconcile a charge for thing_1234" },
    ])
    const audit = await world.operate("audit verify", { company: company.companyId })
    const name = "every pending charge has a job that settles it"
    expect(audit.checks).toContainEqual({ name, ok: true, detail: "1 pending" })
  })
})

describe("a job that runs twice", () => {
  it("sends no text twice and moves no money twice", async () => {
    const sending = vi.spyOn(world.ports.carrier, "send")
    await setCarrierOutcome(world, "silent", 1)
    const id = await sendTextForId(world, company)
    await world.operate("wait")
    const ask = await jobOf(world, "ask-text", id)
    const { chargeId } = ask.payload as { readonly chargeId: string }
    const end = await jobOf(world, "reconcile-charge", chargeId)
    for (const handler of [askText, askText, sendText, endCharge]) {
      const job = handler === endCharge ? end : ask
      expect(await handler.perform(world.ports, job)).toEqual({ result: "done" })
    }
    expect(sending).toHaveBeenCalledTimes(1)
    expect(await recipientFactTypes(world, company.companyId)).toEqual([
      "TextQueued",
      "TextAccepted",
    ])
    expect(await textChargeLinesOf(world, company.companyId)).toMatchObject([{ state: "final" }])
    expect(await messageRowOf(world, id)).toMatchObject({ status: "sent" })
  })

  it("refunds a rejected text once, and a text that was never queued once", async () => {
    await setCarrierOutcome(world, "silent", 1)
    const id = await sendTextForId(world, company)
    await chargeOnly("msg_lost")
    await world.operate("wait")
    const ask = await jobOf(world, "ask-text", id)
    const lost = await jobOf(world, "reconcile-charge", "chg_msg_lost")
    vi.spyOn(world.ports.carrier, "checkTextStatus").mockResolvedValue({
      answer: "rejected",
      errorCode: "1",
    })
    await Promise.all([askText.perform(world.ports, ask), askText.perform(world.ports, ask)])
    await Promise.all([endCharge.perform(world.ports, lost), endCharge.perform(world.ports, lost)])
    await askText.perform(world.ports, ask)
    const lines = await textChargeLinesOf(world, company.companyId)
    expect(lines.filter(({ kind }) => kind === "give_back")).toHaveLength(2)
    expect(await fundsMicrosOf(world, company)).toBe(50_000_000)
  })

  it("opens a company once", async () => {
    const [registered] = (await collectEvents(world.ports.store.read("companies"))).slice(-1)
    const before = await world.ports.store.head()
    const plan = JSON.parse(registered?.data ?? "{}")
    const typed = { ...plan, fundsMicros: Number(plan.fundsMicros) }
    for (let i = 0; i < 2; i += 1) {
      await openCompany(world.ports, typed, registered?.revision ?? 0, cause)
    }
    expect(await world.ports.store.head()).toEqual(before)
  })
})

describe("a failing job", () => {
  /** Sets the number of a job's failed attempts. */
  const setAttempts = (name: string, tries: number) =>
    sql`update ledger.jobs set attempts = ${tries}, retry_at = null where name = ${name}`.execute(
      world.ports.readAll,
    )

  it("is stuck after twenty attempts, with the reason, until an operator retries it", async () => {
    const sending = vi
      .spyOn(world.ports.carrier, "send")
      .mockRejectedValue(new Error("the carrier speaks another language"))
    const id = await sendTextForId(world, company)
    await world.operate("wait")
    await setAttempts(id, 18)
    await world.operate("wait")
    expect(await pendingJobsOf(world, company.companyId)).toContainEqual(
      expect.objectContaining({ kind: "send-text", attempts: 19, stuck: null }),
    )
    await setAttempts(id, 19)
    await world.operate("wait")
    const stuck = (await pendingJobsOf(world, company.companyId)).find((row) => row.stuck !== null)
    expect(stuck).toMatchObject({
      kind: "send-text",
      attempts: 20,
      stuck: "the carrier speaks another language",
    })
    expect(world.warnings.join()).toContain("the carrier speaks another language")
    const again = () => world.operate("job retry", { jobId: stuck?.jobId })
    expect(await again()).toMatchObject({ retried: true, state: "failed", stuck: null })
    const answer = Promise.withResolvers<never>()
    sending.mockReturnValue(answer.promise)
    expect(await again()).toMatchObject({ state: "running" })
    answer.reject(new Error("the carrier speaks another language"))
    await world.operate("wait")
    sending.mockRestore()
    expect(await again()).toMatchObject({ state: "done", dueAt: null })
    expect(await messageRowOf(world, id)).toMatchObject({ status: "sent" })
    expect(await pendingJobsOf(world, company.companyId)).toEqual([])
    await expect(world.operate("job retry", { jobId: 999_999 })).rejects.toThrow("no job 999999")
  })

  it("of an unknown kind is stuck immediately", async () => {
    await sql`
      insert into ledger.jobs (kind, name, subject, company_id, payload, due_at)
      values ('wash-car', 'a', 'a', ${company.companyId}, '{}', now() - interval '1 day')`.execute(
      world.ports.readAll,
    )
    const rows = await pendingJobsOf(world, company.companyId)
    const reason = "no reaction runs wash-car jobs"
    expect(rows).toMatchObject([{ kind: "wash-car", stuck: reason }])
    const again = await world.operate("job retry", { jobId: rows[0]?.jobId })
    expect(again).toMatchObject({ state: "stuck", stuck: reason })
  })

  it("is stuck if the recipient's stream has no such text", async () => {
    await setCarrierOutcome(world, "silent", 1)
    const id = await sendTextForId(world, company)
    await world.operate("wait")
    const job = await jobOf(world, "ask-text", id)
    const stray = { ...job, payload: { ...(job.payload as object), messageId: "msg_stray" } }
    const stuck = { result: "stuck", reason: "the recipient's stream has no such text" }
    expect(await askText.perform(world.ports, stray)).toEqual(stuck)
    expect(await sendText.perform(world.ports, stray)).toEqual(stuck)
  })
})

describe("a call without an answer", () => {
  it("counts as unanswered after ten seconds; the timer is cancelled by an answer", async () => {
    await setCarrierOutcome(world, "silent", 1)
    const id = await sendTextForId(world, company)
    await world.operate("wait")
    const job = { ...(await jobOf(world, "ask-text", id)), kind: "send-text" }
    const signals: (AbortSignal | undefined)[] = []
    const pacer = {
      ...world.ports.pacer,
      pause: async (ms: number, signal?: AbortSignal) => {
        expect(ms).toBe(10_000)
        signals.push(signal)
      },
    }
    const never = { ...world.ports.carrier, send: () => new Promise<never>(() => undefined) }
    const silent = await sendText.perform({ ...world.ports, pacer, carrier: never }, job)
    const dueAt = world.ports.clock.now() + 60_000
    expect(silent).toEqual({ result: "rescheduled", dueAt, kind: "ask-text", subject: id })
    const pending = {
      ...pacer,
      pause: (_ms: number, signal?: AbortSignal) => new Promise<void>(() => signals.push(signal)),
    }
    expect(await askText.perform({ ...world.ports, pacer: pending }, job)).toEqual({
      result: "done",
    })
    expect(signals.map((signal) => signal?.aborted)).toEqual([true, true])
  })
})
