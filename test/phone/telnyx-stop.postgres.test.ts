/** A recipient who texts STOP gets no more texts, however the STOP becomes known, and no text is sent twice. */
import { afterAll, describe, expect, it, vi } from "vitest"
import { Unavailable } from "../../adapters/eventstore/port.ts"
import { startDaemons } from "../../src/frame/daemon.ts"
import { carrierSweep } from "../../src/phone/sweep-carrier.ts"
import { textJobs } from "../../src/phone/send-text.ts"
import { recipientFactTypes, jobOf, retryJobsOf } from "../effects/texts.ts"
import type { TelnyxTextingCompany } from "./telnyx-installation.ts"
import {
  INCOMING_TEXTS_PATH,
  incomingTextEvent,
  newTelnyxEvent,
  textStatusEvent,
  openTelnyxInstallation,
  webhookPathOf,
} from "./telnyx-installation.ts"
import { makeCompany } from "../support/world.ts"
import { buyNumberForId, requestNumber, numbersOf } from "./number-orders.ts"
import { chargeAmountsOf, postText } from "./text-requests.ts"

const telnyx = await openTelnyxInstallation()
afterAll(() => telnyx.close())

const now = () => telnyx.world.ports.clock.now()

/** Records a text from the recipient at Telnyx without a notification. */
const textIn = ({ phone, number }: TelnyxTextingCompany, text: string) =>
  telnyx.server.receiveText({ from: phone, to: number, text, at: now() })

const sendRequests = ({ phone }: TelnyxTextingCompany) =>
  telnyx.server.requests.filter(
    ({ call, body }) => call === "POST /messages" && body["to"] === phone,
  )

/** Sends the recipient a text through the API. */
const text = ({ key, phone, number }: TelnyxTextingCompany) =>
  postText(telnyx.world, key, { from: number, to: phone })

describe("the sweep", () => {
  it("finds a STOP without a notification, once, and queues no reply, because the carrier replied", async () => {
    const texting = await telnyx.makeTextingCompany()
    await texting.send()
    const stop = textIn(texting, "stop.")
    const before = await texting.facts()
    const swept = await telnyx.world.operate("carrier sweep")
    expect(swept).toMatchObject({ received: 1, missing: 0 })
    const facts = await texting.facts()
    expect(facts.slice(before.length)).toEqual(["TextReceived", "OptedOutByText"])
    expect((await text(texting)).body.error).toBe("opted_out")
    expect(await telnyx.world.operate("carrier sweep")).toMatchObject({ received: 0 })
    // A late notification of the STOP records nothing.
    await telnyx.notify(INCOMING_TEXTS_PATH, incomingTextEvent(stop))
    expect(await texting.facts()).toEqual(facts)
  })

  it("runs when a process starts, over more than one page of messages", async () => {
    const texting = await telnyx.makeTextingCompany()
    for (let i = 0; i < 120; i += 1) textIn(texting, `Text ${i}`)
    textIn(texting, "STOP")
    const closers: (() => Promise<void>)[] = []
    await startDaemons([carrierSweep], telnyx.world.ports, ({ close }) => closers.push(close))
    // Closing waits for the running sweep.
    await Promise.all(closers.map((close) => close()))
    expect((await text(texting)).body.error).toBe("opted_out")
    expect(await texting.facts()).toHaveLength(122)
  })

  it("reports a text that the carrier has deleted as missing", async () => {
    const texting = await telnyx.makeTextingCompany()
    const received = textIn(texting, "STOP")
    received.isDeleted = true
    expect(await telnyx.world.operate("carrier sweep")).toMatchObject({ received: 0, missing: 1 })
    received.isDeleted = false
    expect(await telnyx.world.operate("carrier sweep")).toMatchObject({ received: 1, missing: 0 })
  })
})

describe("a group text", () => {
  /** A text to the company's number and to others, of which one belongs to no company. */
  const groupIn = (
    { phone, number }: TelnyxTextingCompany,
    others: Partial<Record<"to" | "cc", string[]>>,
  ) => {
    const otherRecipients = {
      to: ["+19995550001", ...(others.to ?? [])],
      cc: [phone, ...(others.cc ?? [])],
    }
    return telnyx.server.receiveText({
      from: phone,
      to: number,
      text: "STOP",
      at: now(),
      otherRecipients,
    })
  }

  it("is a STOP to each company whose number it names, once, however it becomes known", async () => {
    const [texting, other] = [await telnyx.makeTextingCompany(), await telnyx.makeTextingCompany()]
    const inCopy = { ...other, phone: texting.phone }
    const group = groupIn(texting, { cc: [inCopy.number, texting.number] })
    expect((await telnyx.notify(INCOMING_TEXTS_PATH, incomingTextEvent(group))).body).toEqual({
      taken: 2,
      known: 1,
    })
    for (const company of [texting, inCopy]) {
      const { status, body } = await text(company)
      expect([status, body.error]).toEqual([409, "opted_out"])
    }
    await telnyx.notify(INCOMING_TEXTS_PATH, incomingTextEvent(group))
    await telnyx.world.operate("wait")
    expect(await telnyx.world.operate("carrier sweep")).toMatchObject({ received: 0, missing: 0 })
    for (const { companyId, phone } of [texting, inCopy]) {
      const facts = await recipientFactTypes(telnyx.world, companyId, phone)
      expect(facts.slice(0, 2)).toEqual(["TextReceived", "OptedOutByText"])
      expect(facts.filter((type) => type === "TextReceived")).toHaveLength(1)
    }
  })

  it("is recorded for each of the company's numbers", async () => {
    const texting = await telnyx.makeTextingCompany()
    const [forSale] = [...telnyx.server.orderableNumbers]
    const { number } = await buyNumberForId(telnyx.world, texting, forSale)
    await telnyx.world.operate("wait")
    await telnyx.notify(
      INCOMING_TEXTS_PATH,
      incomingTextEvent(groupIn(texting, { to: [number] }), { text: "Hello" }),
    )
    expect(await texting.facts()).toEqual(["TextReceived", "TextReceived"])
    await telnyx.world.operate("wait")
    const { body } = await telnyx.world.call(texting.key, "GET", "/api/v1/phone/messages")
    const messages = body.messages as readonly { readonly to: string }[]
    expect(new Set(messages.map(({ to }) => to))).toEqual(new Set([texting.number, number]))
  })

  it("is completed by the sweep if it was stored for only one of its numbers", async () => {
    const [texting, other] = [await telnyx.makeTextingCompany(), await telnyx.makeTextingCompany()]
    const inCopy = { ...other, phone: texting.phone }
    const group = groupIn(texting, { to: [inCopy.number] })
    await telnyx.world.operate("carrier sweep")
    const late = groupIn(texting, { cc: [inCopy.number] })
    const { runner } = telnyx.world.ports
    const execute = runner.execute.bind(runner)
    const failing = vi.spyOn(runner, "execute").mockImplementation((target, ...rest) => {
      if (!target.stream.includes(other.companyId)) return execute(target, ...rest)
      throw new Unavailable("the store is away")
    })
    expect((await telnyx.notify(INCOMING_TEXTS_PATH, incomingTextEvent(late))).status).toBe(503)
    failing.mockRestore()
    await telnyx.world.operate("wait")
    expect(await telnyx.world.operate("carrier sweep")).toMatchObject({ received: 1, missing: 0 })
    for (const company of [texting, inCopy]) {
      expect((await text(company)).body.error).toBe("opted_out")
    }
    expect(await telnyx.world.operate("carrier sweep")).toMatchObject({ received: 0, missing: 0 })
    await telnyx.notify(INCOMING_TEXTS_PATH, incomingTextEvent(group))
    const received = (await texting.facts()).filter((type) => type === "TextReceived")
    expect(received).toHaveLength(2)
  })
})

describe("a STOP that the carrier has replied to", () => {
  it("queues no reply, and neither does the START, which also ends an opt-out by the API", async () => {
    const texting = await telnyx.makeTextingCompany()
    const url = "/api/v1/phone/opt-outs"
    await telnyx.world.call(texting.key, "POST", url, { body: { phone: texting.phone } })
    await telnyx.notify(
      INCOMING_TEXTS_PATH,
      incomingTextEvent(textIn(texting, "STOP"), { autoresponse_type: "STOP" }),
    )
    expect((await text(texting)).body.error).toBe("opted_out")
    await telnyx.notify(
      INCOMING_TEXTS_PATH,
      incomingTextEvent(textIn(texting, "START"), { autoresponse_type: "START" }),
    )
    await telnyx.world.operate("wait")
    expect(await texting.facts()).toEqual([
      "OptOutAdded",
      "TextReceived",
      "OptedOutByText",
      "TextReceived",
      "OptedInByText",
    ])
    expect(sendRequests(texting)).toEqual([])
    expect((await text(texting)).status).toBe(200)
  })

  it("may become known by a rejected text, which is refunded; only a START ends it", async () => {
    const texting = await telnyx.makeTextingCompany()
    telnyx.server.nextBehavior = { status: 403, code: "40300" }
    await text(texting)
    await telnyx.world.operate("wait")
    expect(await texting.facts()).toEqual(["TextQueued", "TextRejected", "OptedOutAtCarrier"])
    expect((await chargeAmountsOf(telnyx.world, texting)).at(-1)).toMatchObject({
      state: "given_back",
    })
    expect((await text(texting)).body.error).toBe("opted_out")
    const { body } = await telnyx.world.call(texting.key, "GET", "/api/v1/phone/opt-outs")
    expect(body.optOuts).toMatchObject([{ status: "out", source: "text", keyword: null }])
    await telnyx.notify(
      INCOMING_TEXTS_PATH,
      incomingTextEvent(textIn(texting, "STOP"), { autoresponse_type: "STOP" }),
    )
    expect((await texting.facts()).slice(3)).toEqual(["TextReceived"])
    await telnyx.notify(
      INCOMING_TEXTS_PATH,
      incomingTextEvent(textIn(texting, "START"), { autoresponse_type: "START" }),
    )
    expect((await text(texting)).status).toBe(200)
  })

  it("does not affect an earlier text with an unknown outcome", async () => {
    const texting = await telnyx.makeTextingCompany()
    telnyx.server.nextBehavior = "silent"
    await text(texting)
    await telnyx.world.operate("wait")
    await telnyx.notify(
      INCOMING_TEXTS_PATH,
      incomingTextEvent(textIn(texting, "STOP"), { autoresponse_type: "STOP" }),
    )
    expect((await text(texting)).body.error).toBe("opted_out")
    await telnyx.world.operate("clock advance", { duration: "2m" })
    await retryJobsOf(telnyx.world, texting.companyId, "send-text", "ask-text")
    expect(await texting.facts()).toEqual([
      "TextQueued",
      "TextReceived",
      "OptedOutByText",
      "TextAccepted",
    ])
    expect(sendRequests(texting)).toHaveLength(1)
  })
})

describe("a text with an unknown outcome", () => {
  it("is never sent again, and is refunded if Telnyx does not have it after half an hour", async () => {
    const texting = await telnyx.makeTextingCompany()
    telnyx.server.nextBehavior = "silent"
    await text(texting)
    await telnyx.world.operate("wait")
    // Telnyx never received it.
    telnyx.server.messages.pop()
    for (const duration of ["5m", "20m", "10m"]) {
      await telnyx.world.operate("clock advance", { duration })
      await retryJobsOf(telnyx.world, texting.companyId, "send-text", "ask-text")
      expect(sendRequests(texting)).toHaveLength(1)
    }
    expect(await texting.facts()).toEqual(["TextQueued", "TextRejected"])
    expect((await chargeAmountsOf(telnyx.world, texting)).at(-1)).toMatchObject({
      state: "given_back",
    })
  })

  it("is reconciled by the next process after a crash, and not sent again", async () => {
    const texting = await telnyx.makeTextingCompany()
    telnyx.server.nextBehavior = "unavailable"
    const { id } = (await text(texting)).body
    await telnyx.world.operate("wait")
    expect(sendRequests(texting)).toHaveLength(1)
    // The job as a process leaves it that dies during the call, after its lease has expired.
    const job = { ...(await jobOf(telnyx.world, "send-text", id)), isDispatched: true }
    const countStatusChecks = () =>
      telnyx.server.requests.filter(({ call }) => call === "GET /detail_records").length
    const before = countStatusChecks()
    const [sending] = textJobs
    expect(await sending?.perform(telnyx.world.ports, job)).toMatchObject({ result: "rescheduled" })
    expect(countStatusChecks()).toBe(before + 1)
    expect(sendRequests(texting)).toHaveLength(1)
  })

  it("is marked as sent by a status notification that arrives before the status check", async () => {
    const texting = await telnyx.makeTextingCompany()
    telnyx.server.nextBehavior = "silent"
    await text(texting)
    await telnyx.world.operate("wait")
    const message = telnyx.server.messages.findLast(({ to }) => to === texting.phone)
    if (message === undefined) throw new Error("Telnyx has no text")
    await telnyx.notify(webhookPathOf(message), textStatusEvent(message, "sent"))
    await telnyx.world.operate("wait")
    expect(await texting.facts()).toEqual(["TextQueued", "TextAccepted"])
    expect((await chargeAmountsOf(telnyx.world, texting)).at(-1)).toMatchObject({ state: "final" })
  })
})

describe("an order", () => {
  it("is checked when Telnyx notifies us of a change", async () => {
    const texting = await telnyx.makeTextingCompany()
    const ordered = telnyx.server.requests.findLast(({ call }) => call === "POST /number_orders")
    const reference = String(ordered?.body["customer_reference"])
    const event = newTelnyxEvent("number_order.complete", { customer_reference: reference })
    expect((await telnyx.notify(INCOMING_TEXTS_PATH, event)).body).toEqual({ taken: 1, known: 0 })
    const { body } = await telnyx.world.call(texting.key, "GET", "/api/v1/phone/state")
    const numbers = body.numbers as readonly { readonly number: string }[]
    expect(numbers.filter(({ number }) => number === texting.number)).toHaveLength(1)
  })

  it.each([
    ["1m", { features: { sms: {} } }, true],
    ["29m", null, null],
    ["31m", null, false],
  ])("completed after %s with Telnyx's texting features %j has `sms` %j", async (...row) => {
    const [duration, texting, canText] = row
    const company = await makeCompany(telnyx.world)
    const [forSale = ""] = [...telnyx.server.orderableNumbers]
    const initial = telnyx.server.texting
    telnyx.server.texting = null
    telnyx.server.nextBehavior = "silent"
    await requestNumber(telnyx.world, company, forSale)
    telnyx.server.texting = texting
    await telnyx.world.operate("clock advance", { duration })
    await retryJobsOf(telnyx.world, company.companyId, "buy-number", "ask-number")
    const held = (await numbersOf(telnyx.world, company)).find(({ number }) => number === forSale)
    telnyx.server.texting = initial
    expect(held?.["sms"] ?? null).toBe(canText)
  })
})
