import { expectSoundAudit } from "../credits/buy-funds.ts"
import { describe, expect, it, beforeEach } from "vitest"
import { ClockUnsure } from "../../adapters/machine/clock/port.ts"
import { Unavailable } from "../../adapters/eventstore/port.ts"
import { OutcomeUnknown } from "../../src/frame/writer/runner.ts"
import { DeadlinePassed, Overloaded } from "../../src/frame/writer/runner/port.ts"
import { retryJobsOf } from "../effects/texts.ts"
import {
  OPT_OUT_SUFFIX,
  GSM_SEGMENT_MICROS,
  MESSAGES_PATH,
  chargeAmountsOf,
  newPhoneNumber,
  postText,
} from "../phone/text-requests.ts"
import type { Company, ApiAnswer } from "../support/world.ts"
import {
  callWithPorts,
  fundsMicrosOf,
  makeCallsFree,
  makeCompany,
  openWorld,
  ownWorld,
  setLimit,
} from "../support/world.ts"
import type { StepCrash, InFlightAppend } from "./interrupted-requests.ts"
import {
  idempotencyClaimOf,
  crashAtStep,
  portsFailingAt,
  newIdempotencyKey,
  portsWithoutRecipients,
  portsWithEntryHook,
} from "./interrupted-requests.ts"

const world = await ownWorld("time")
await makeCallsFree(world)

/** Starts a request in a process that is killed at a step. */
async function begin(death: StepCrash, company: Company, text: object = {}) {
  const idempotencyKey = newIdempotencyKey()
  const body = { to: newPhoneNumber(), body: "Hello", ...text }
  const request = { key: company.key, url: MESSAGES_PATH, body, idempotencyKey }
  await crashAtStep(world, death, request)
  const headers = { "idempotency-key": idempotencyKey }
  const again = () => postText(world, company.key, body, headers)
  return { body, headers, idempotencyKey, again }
}

/** Asserts that there is one sent text with one settled charge, no pending charge, and a sound audit. */
async function expectOneText(company: Company, id: string): Promise<void> {
  await world.operate("wait")
  const { messages } = (await world.call(company.key, "GET", MESSAGES_PATH)).body
  expect(messages).toMatchObject([{ id, status: "sent" }])
  const charges = await chargeAmountsOf(world, company)
  expect(charges.filter(({ state }) => state === "final")).toEqual([
    { micros: GSM_SEGMENT_MICROS, state: "final" },
  ])
  expect(charges.filter(({ state }) => state === "open")).toEqual([])
  expect(await fundsMicrosOf(world, company)).toBe(50_000_000 - GSM_SEGMENT_MICROS)
  await expectSoundAudit(world, company)
}

const CRASHES: readonly (readonly [string, StepCrash])[] = [
  ["before it charged", { step: "Charge", when: "before" }],
  ["after it charged", { step: "Charge", when: "after" }],
  ["before it queued", { step: "QueueText", when: "before" }],
  ["after it queued", { step: "QueueText", when: "after" }],
]

describe("a process that was killed", () => {
  it.for(CRASHES)("%s: a retry executes the request once", async ([, death]) => {
    const company = await makeCompany(world)
    const { again, body } = await begin(death, company)
    const taken = await again()
    expect([taken.status, taken.headers["idempotency-replayed"]]).toEqual([200, undefined])
    expect(taken.body).toMatchObject({
      status: "queued",
      to: body.to,
      body: `Hello${OPT_OUT_SUFFIX}`,
    })
    const replayed = await again()
    expect(replayed.headers["idempotency-replayed"]).toBe("true")
    expect(replayed.body).toEqual(taken.body)
    await expectOneText(company, taken.body.id)
  })

  it("after it queued: a retry finds the text that was sent and paid for since", async () => {
    const company = await makeCompany(world)
    const { again } = await begin({ step: "QueueText", when: "after" }, company)
    await world.operate("wait")
    expect(await chargeAmountsOf(world, company)).toEqual([
      { micros: GSM_SEGMENT_MICROS, state: "final" },
    ])
    const taken = await again()
    expect(taken.status).toBe(200)
    await expectOneText(company, taken.body.id)
  })

  it("after it charged: if the charge was refunded since, a retry is the next attempt", async () => {
    const here = await openWorld("time")
    try {
      await makeCallsFree(here)
      const company = await makeCompany(here)
      const idempotencyKey = newIdempotencyKey()
      const body = { to: newPhoneNumber(), body: "Hello" }
      const death = { step: "Charge", when: "after" } as const
      await crashAtStep(here, death, { key: company.key, url: MESSAGES_PATH, body, idempotencyKey })
      await here.operate("clock advance", { duration: "15m" })
      expect(await chargeAmountsOf(here, company)).toEqual([
        { micros: GSM_SEGMENT_MICROS, state: "given_back" },
      ])
      const headers = { "idempotency-key": idempotencyKey }
      expect((await postText(here, company.key, body, headers)).status).toBe(200)
      expect(await idempotencyClaimOf(here, idempotencyKey)).toEqual({ state: "done", attempt: 1 })
      expect((await chargeAmountsOf(here, company)).map(({ state }) => state)).toEqual([
        "given_back",
        "final",
      ])
      expect(await fundsMicrosOf(here, company)).toBe(50_000_000 - GSM_SEGMENT_MICROS)
    } finally {
      await here.close()
    }
  })

  it("after it queued: if the carrier rejected the text since, a retry is the next attempt", async () => {
    const company = await makeCompany(world)
    await world.operate("simulator set", { name: "carrier", outcome: "reject", times: 1 })
    const { again, idempotencyKey } = await begin({ step: "QueueText", when: "after" }, company)
    await world.operate("wait")
    expect((await again()).status).toBe(200)
    expect(await idempotencyClaimOf(world, idempotencyKey)).toEqual({ state: "done", attempt: 1 })
    expect(await fundsMicrosOf(world, company)).toBe(50_000_000 - GSM_SEGMENT_MICROS)
  })

  it.for(CRASHES.slice(1))(
    "%s: no limit, lock or removed card rejects a retry that is already paid for",
    async ([, death]) => {
      const company = await makeCompany(world)
      const { companyId, key } = company
      await setLimit(world, company, { dollars: "0.009" })
      const { again, headers, body } = await begin(death, company)
      await world.operate("company lock", { company: companyId })
      await world.operate("card remove", { company: companyId })
      const taken = await again()
      expect(taken.status).toBe(200)
      expect((await postText(world, key, body, headers)).body).toEqual(taken.body)
      expect((await chargeAmountsOf(world, company)).map(({ micros }) => micros)).toEqual([
        GSM_SEGMENT_MICROS,
      ])
    },
  )

  it("before it charged: a retry can be rejected, and the key still belongs to this request", async () => {
    const company = await makeCompany(world)
    const { again, idempotencyKey } = await begin({ step: "Charge", when: "before" }, company)
    await world.operate("card remove", { company: company.companyId })
    expect((await again()).status).toBe(402)
    expect(await idempotencyClaimOf(world, idempotencyKey)).toEqual({
      state: "running",
      attempt: 0,
    })
    await world.operate("card set", { company: company.companyId, verified: true })
    const taken = await again()
    expect(taken.status).toBe(200)
    await expectOneText(company, taken.body.id)
  })

  it("after it charged: if the recipient opted out since, a retry is refunded and gets 409", async () => {
    const company = await makeCompany(world)
    const { again, body, idempotencyKey } = await begin({ step: "Charge", when: "after" }, company)
    const optOut = { body: { phone: body.to } }
    await world.call(company.key, "POST", "/api/v1/phone/opt-outs", optOut)
    const { status, body: refused } = await again()
    expect([status, refused.error]).toEqual([409, "opted_out"])
    expect(await fundsMicrosOf(world, company)).toBe(50_000_000)
    expect((await idempotencyClaimOf(world, idempotencyKey))?.state).toBe("free")
  })

  it("after it charged for the opt-out line: the line is refunded if another text was first", async () => {
    const company = await makeCompany(world)
    const to = newPhoneNumber()
    const text = { to, body: "x".repeat(160) }
    const { again } = await begin({ step: "Charge", when: "after" }, company, text)
    await postText(world, company.key, { to })
    expect((await again()).body.body).toBe(text.body)
    await world.operate("wait")
    expect(await fundsMicrosOf(world, company)).toBe(50_000_000 - 2 * GSM_SEGMENT_MICROS)
  })

  it("after it charged without the opt-out line: it is charged again with the line if it is now first", async () => {
    const company = await makeCompany(world)
    const to = newPhoneNumber()
    await world.operate("simulator set", { name: "carrier", outcome: "unavailable" })
    await postText(world, company.key, { to })
    const text = { to, body: "x".repeat(160) }
    const { again } = await begin({ step: "Charge", when: "after" }, company, text)
    await world.operate("wait")
    await world.operate("simulator set", { name: "carrier", outcome: "reject", times: 1 })
    await retryJobsOf(world, company.companyId, "send-text")
    expect((await again()).body.body).toBe(text.body + OPT_OUT_SUFFIX)
    await world.operate("wait")
    expect(await fundsMicrosOf(world, company)).toBe(50_000_000 - 2 * GSM_SEGMENT_MICROS)
  })

  it.for([
    new DeadlinePassed("too late"),
    new Overloaded("too many"),
    new ClockUnsure("no time is known"),
  ])("keeps its key if a retry fails (%s), and one text is sent", async (error) => {
    const company = await makeCompany(world)
    const { again, body, headers, idempotencyKey } = await begin(
      { step: "QueueText", when: "after" },
      company,
    )
    const ports = portsWithoutRecipients(world, error)
    const failed = await callWithPorts(ports, company.key, "POST", MESSAGES_PATH, { body, headers })
    expect(failed.status).toBe(503)
    expect(await idempotencyClaimOf(world, idempotencyKey)).toEqual({
      state: "running",
      attempt: 0,
    })
    const taken = await again()
    expect(taken.status).toBe(200)
    await expectOneText(company, taken.body.id)
  })

  it("keeps its key, so that another body is a conflict", async () => {
    const company = await makeCompany(world)
    const { headers } = await begin({ step: "Charge", when: "after" }, company)
    const { body } = await postText(world, company.key, {}, headers)
    expect(body.error).toBe("idempotency_conflict")
  })

  it("is taken over by one of twenty concurrent retries, with one charge", async () => {
    const company = await makeCompany(world)
    const { again } = await begin({ step: "Charge", when: "after" }, company)
    const answers = await Promise.all(Array.from({ length: 20 }, again))
    const ids = answers.filter(({ status }) => status === 200).map(({ body }) => body.id)
    expect(new Set(ids).size).toBe(1)
    await expectOneText(company, ids[0])
  })
})

describe("an unknown outcome", () => {
  /** The answer of an app in which a step fails, then the answer of an app in which it works. */
  async function failThenRetry(death: StepCrash, error: Error) {
    const company = await makeCompany(world)
    const idempotencyKey = newIdempotencyKey()
    const body = { to: newPhoneNumber(), body: "Hello" }
    const headers = { "idempotency-key": idempotencyKey }
    const ports = portsFailingAt(world, death, error)
    const failed = await callWithPorts(ports, company.key, "POST", MESSAGES_PATH, { body, headers })
    const claim = await idempotencyClaimOf(world, idempotencyKey)
    const retried = await postText(world, company.key, body, headers)
    return { company, failed, claim, retried }
  }

  it.for(CRASHES)("does not free the key: %s", async ([, death]) => {
    const error = new OutcomeUnknown("unknown")
    const { company, failed, claim, retried } = await failThenRetry(death, error)
    expect(failed.status).toBe(503)
    expect(failed.headers["retry-after"]).toBe("5")
    expect(failed.body).toEqual({
      error: "unavailable",
      message: expect.stringContaining("same Idempotency-Key"),
      requestId: failed.headers["x-request-id"],
      chargeId: expect.stringMatching(/^chg_/),
    })
    expect(claim).toEqual({ state: "running", attempt: 0 })
    expect(retried.status).toBe(200)
    await expectOneText(company, retried.body.id)
  })

  it.for([
    ["cannot be reached", new Unavailable("the store is away")],
    ["broke", new TypeError("a fault")],
  ] as const)("results from every failure after a charge: the store %s", async ([, error]) => {
    const death = { step: "QueueText", when: "before" } as const
    const { company, failed, claim, retried } = await failThenRetry(death, error)
    expect(failed.body).toMatchObject({ error: "unavailable", chargeId: expect.any(String) })
    expect(claim).toEqual({ state: "running", attempt: 0 })
    await expectOneText(company, retried.body.id)
  })

  it("reveals nothing of a fault before or after the charge", async () => {
    const company = await makeCompany(world)
    for (const step of ["Charge", "QueueText"] as const) {
      const fault = new TypeError("secret of the inside")
      const ports = portsFailingAt(world, { step, when: "before" }, fault)
      const body = { to: newPhoneNumber(), body: "Hello" }
      const answer = await callWithPorts(ports, company.key, "POST", MESSAGES_PATH, { body })
      expect(answer.status).toBe(step === "Charge" ? 500 : 503)
      expect(JSON.stringify(answer.body)).not.toContain("secret")
      expect(answer.body.requestId).toBe(answer.headers["x-request-id"])
    }
    expect(world.warnings.filter((line) => line.includes("secret of the inside"))).toHaveLength(1)
  })
})

describe("a late charge of a killed process", () => {
  let company: Company
  let sent: InFlightAppend
  let idempotencyKey: string
  let request: { readonly body: object; readonly headers: Record<string, string> }

  beforeEach(async () => {
    company = await makeCompany(world)
    idempotencyKey = newIdempotencyKey()
    const body = { to: newPhoneNumber(), body: "Hello" }
    request = { body, headers: { "idempotency-key": idempotencyKey } }
  })

  /** Kills a process that has sent the charge to the store and no answer to the caller. */
  const kill = async (): Promise<void> => {
    const { body } = request
    const details = { key: company.key, url: MESSAGES_PATH, body, idempotencyKey }
    sent = await crashAtStep(world, { step: "Charge", when: "before" }, details)
  }
  const again = (): Promise<ApiAnswer> => world.call(company.key, "POST", MESSAGES_PATH, request)

  /** Asserts that one text was sent for one charge and nothing is pending. */
  async function expectOnePaid(): Promise<void> {
    await world.operate("wait")
    expect(await chargeAmountsOf(world, company)).toEqual([
      { micros: GSM_SEGMENT_MICROS, state: "final" },
    ])
    expect(await fundsMicrosOf(world, company)).toBe(50_000_000 - GSM_SEGMENT_MICROS)
    await expectSoundAudit(world, company)
  }

  it("does not count against its own retry if it arrives after the retry looked for it", async () => {
    await setLimit(world, company, { dollars: "0.009" })
    await kill()
    const ports = portsWithEntryHook(world, sent.deliver)
    const taken = await callWithPorts(ports, company.key, "POST", MESSAGES_PATH, request)
    expect([taken.status, taken.body.status]).toEqual([200, "queued"])
    const replayed = await again()
    expect([replayed.body, replayed.headers["idempotency-replayed"]]).toEqual([taken.body, "true"])
    await expectOnePaid()
  })

  it("is found by a retry if it arrives after a rejection", async () => {
    await kill()
    await world.operate("card remove", { company: company.companyId })
    expect((await again()).status).toBe(402)
    expect(await idempotencyClaimOf(world, idempotencyKey)).toEqual({
      state: "running",
      attempt: 0,
    })
    await sent.deliver()
    expect((await again()).status).toBe(200)
    await expectOnePaid()
  })

  it("does not block a retry if it never arrives: only other charges count against the limit", async () => {
    await setLimit(world, company, { dollars: "0.009" })
    await kill()
    const other = { body: { to: newPhoneNumber(), body: "Hello" } }
    expect((await world.call(company.key, "POST", MESSAGES_PATH, other)).status).toBe(200)
    const refused = await again()
    expect([refused.status, refused.body.error]).toEqual([429, "spend_limit_reached"])
    await setLimit(world, company, { dollars: "1" })
    expect((await again()).status).toBe(200)
    await world.operate("wait")
    expect(await fundsMicrosOf(world, company)).toBe(50_000_000 - 2 * GSM_SEGMENT_MICROS)
  })
})

const URL = "/api/v1/phone/messages"
const DAY = "24h"

describe("an Idempotency-Key", () => {
  it("is replayed for 30 days of the ledger's clock and then starts a new request", async () => {
    const { key, companyId } = await makeCompany(world)
    const headers = { "idempotency-key": "once a month" }
    const send = (to: string) =>
      world.call(key, "POST", URL, { body: { to, body: "STOP ends this" }, headers })
    const first = await send("+14155550123")
    for (let day = 0; day < 30; day += 1) await world.operate("clock advance", { duration: DAY })
    expect((await send("+14155550123")).headers["idempotency-replayed"]).toBe("true")

    await world.operate("clock advance", { duration: "1s" })
    const next = await send("+14155550124")
    expect(next.status).toBe(200)
    expect(next.headers).not.toHaveProperty("idempotency-replayed")
    expect(next.body.id).not.toBe(first.body.id)

    await world.operate("wait")
    const list = await world.call(key, "GET", URL)
    expect(list.body.messages.map((message: { to: string }) => message.to)).toEqual([
      "+14155550123",
      "+14155550124",
    ])
    expect(await fundsMicrosOf(world, { companyId })).toBe(50_000_000 - 2 * 9_000)
    await expectSoundAudit(world)
  })
})
