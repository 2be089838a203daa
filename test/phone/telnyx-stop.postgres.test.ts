/** Whoever texts STOP is texted no more, whichever way it is heard of; and no text goes twice. */
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

const by = await openTelnyxInstallation()
afterAll(() => by.close())

const now = () => by.world.ports.clock.now()

/** A text of theirs that Telnyx has in its books, and tells nobody of. */
const textIn = ({ phone, number }: TelnyxTextingCompany, text: string) =>
  by.server.receiveText({ from: phone, to: number, text, at: now() })

/** The texts that were handed over to somebody. */
const handedOver = ({ phone }: TelnyxTextingCompany) =>
  by.server.requests.filter(({ call, body }) => call === "POST /messages" && body["to"] === phone)

/** A text to them, as the API answers it. */
const text = ({ key, phone, number }: TelnyxTextingCompany) =>
  postText(by.world, key, { from: number, to: phone })

describe("the sweep", () => {
  it("finds a STOP that nobody told of, once, and the carrier has answered it", async () => {
    const texting = await by.makeTexting()
    await texting.send()
    const stop = textIn(texting, "stop.")
    const before = await texting.facts()
    const swept = await by.world.operate("carrier sweep")
    expect(swept).toMatchObject({ received: 1, missing: 0 })
    const facts = await texting.facts()
    expect(facts.slice(before.length)).toEqual(["TextReceived", "OptedOutByText"])
    expect((await text(texting)).body.error).toBe("opted_out")
    expect(await by.world.operate("carrier sweep")).toMatchObject({ received: 0 })
    // Told of it after all, it is known.
    await by.tell(INCOMING_TEXTS_PATH, incomingTextEvent(stop))
    expect(await texting.facts()).toEqual(facts)
  })

  it("is done when a process starts, over more than a page of books", async () => {
    const texting = await by.makeTexting()
    for (let i = 0; i < 120; i += 1) textIn(texting, `Text ${i}`)
    textIn(texting, "STOP")
    const closers: (() => Promise<void>)[] = []
    await startDaemons([carrierSweep], by.world.ports, ({ close }) => closers.push(close))
    // Its end waits for what is under way.
    await Promise.all(closers.map((close) => close()))
    expect((await text(texting)).body.error).toBe("opted_out")
    expect(await texting.facts()).toHaveLength(122)
  })

  it("says of a text that the carrier keeps no longer that it is lost", async () => {
    const texting = await by.makeTexting()
    const came = textIn(texting, "STOP")
    came.isDeleted = true
    expect(await by.world.operate("carrier sweep")).toMatchObject({ received: 0, missing: 1 })
    came.isDeleted = false
    expect(await by.world.operate("carrier sweep")).toMatchObject({ received: 1, missing: 0 })
  })
})

describe("a group text", () => {
  /** A text to a number of this company and to others, of which one is nobody's here. */
  const groupIn = (
    { phone, number }: TelnyxTextingCompany,
    others: Partial<Record<"to" | "cc", string[]>>,
  ) => {
    const otherRecipients = {
      to: ["+19995550001", ...(others.to ?? [])],
      cc: [phone, ...(others.cc ?? [])],
    }
    return by.server.receiveText({
      from: phone,
      to: number,
      text: "STOP",
      at: now(),
      otherRecipients,
    })
  }

  it("is a STOP to each company whose number it names, once, however it is heard of", async () => {
    const [texting, inCopy] = [await by.makeTexting(), await by.makeTexting()]
    const of = { ...inCopy, phone: texting.phone }
    const group = groupIn(texting, { cc: [of.number, texting.number] })
    expect((await by.tell(INCOMING_TEXTS_PATH, incomingTextEvent(group))).body).toEqual({
      taken: 2,
      known: 1,
    })
    for (const each of [texting, of]) {
      const told = await text(each)
      expect([told.status, told.body.error]).toEqual([409, "opted_out"])
    }
    await by.tell(INCOMING_TEXTS_PATH, incomingTextEvent(group))
    await by.world.operate("wait")
    expect(await by.world.operate("carrier sweep")).toMatchObject({ received: 0, missing: 0 })
    for (const { companyId, phone } of [texting, of]) {
      const facts = await recipientFactTypes(by.world, companyId, phone)
      expect(facts.slice(0, 2)).toEqual(["TextReceived", "OptedOutByText"])
      expect(facts.filter((type) => type === "TextReceived")).toHaveLength(1)
    }
  })

  it("is recorded for each number of one company", async () => {
    const texting = await by.makeTexting()
    const [forSale] = [...by.server.orderableNumbers]
    const { number } = await buyNumberForId(by.world, texting, forSale)
    await by.world.operate("wait")
    await by.tell(
      INCOMING_TEXTS_PATH,
      incomingTextEvent(groupIn(texting, { to: [number] }), { text: "Hello" }),
    )
    expect(await texting.facts()).toEqual(["TextReceived", "TextReceived"])
    await by.world.operate("wait")
    const { body } = await by.world.call(texting.key, "GET", "/api/v1/phone/messages")
    const messages = body.messages as readonly { readonly to: string }[]
    expect(new Set(messages.map(({ to }) => to))).toEqual(new Set([texting.number, number]))
  })

  it("is completed by the sweep where it was heard of, but stored for one number alone", async () => {
    const [texting, other] = [await by.makeTexting(), await by.makeTexting()]
    const of = { ...other, phone: texting.phone }
    const group = groupIn(texting, { to: [of.number] })
    await by.world.operate("carrier sweep")
    const late = groupIn(texting, { cc: [of.number] })
    const { runner } = by.world.ports
    const execute = runner.execute.bind(runner)
    const away = vi.spyOn(runner, "execute").mockImplementation((about, ...rest) => {
      if (!about.stream.includes(other.companyId)) return execute(about, ...rest)
      throw new Unavailable("the store is away")
    })
    expect((await by.tell(INCOMING_TEXTS_PATH, incomingTextEvent(late))).status).toBe(503)
    away.mockRestore()
    await by.world.operate("wait")
    expect(await by.world.operate("carrier sweep")).toMatchObject({ received: 1, missing: 0 })
    for (const each of [texting, of]) expect((await text(each)).body.error).toBe("opted_out")
    expect(await by.world.operate("carrier sweep")).toMatchObject({ received: 0, missing: 0 })
    await by.tell(INCOMING_TEXTS_PATH, incomingTextEvent(group))
    const received = (await texting.facts()).filter((type) => type === "TextReceived")
    expect(received).toHaveLength(2)
  })
})

describe("a STOP that the carrier has answered", () => {
  it("queues no reply, and neither does their START, which ends what the API added too", async () => {
    const texting = await by.makeTexting()
    const url = "/api/v1/phone/opt-outs"
    await by.world.call(texting.key, "POST", url, { body: { phone: texting.phone } })
    await by.tell(
      INCOMING_TEXTS_PATH,
      incomingTextEvent(textIn(texting, "STOP"), { autoresponse_type: "STOP" }),
    )
    expect((await text(texting)).body.error).toBe("opted_out")
    await by.tell(
      INCOMING_TEXTS_PATH,
      incomingTextEvent(textIn(texting, "START"), { autoresponse_type: "START" }),
    )
    await by.world.operate("wait")
    expect(await texting.facts()).toEqual([
      "OptOutAdded",
      "TextReceived",
      "OptedOutByText",
      "TextReceived",
      "OptedInByText",
    ])
    expect(handedOver(texting)).toEqual([])
    expect((await text(texting)).status).toBe(200)
  })

  it("may be heard of first by a refusal: given back, and only START ends it", async () => {
    const texting = await by.makeTexting()
    by.server.nextBehavior = { status: 403, code: "40300" }
    await text(texting)
    await by.world.operate("wait")
    expect(await texting.facts()).toEqual(["TextQueued", "TextRejected", "OptedOutAtCarrier"])
    expect((await chargeAmountsOf(by.world, texting)).at(-1)).toMatchObject({ state: "given_back" })
    expect((await text(texting)).body.error).toBe("opted_out")
    const { body } = await by.world.call(texting.key, "GET", "/api/v1/phone/opt-outs")
    expect(body.optOuts).toMatchObject([{ status: "out", source: "text", keyword: null }])
    await by.tell(
      INCOMING_TEXTS_PATH,
      incomingTextEvent(textIn(texting, "STOP"), { autoresponse_type: "STOP" }),
    )
    expect((await texting.facts()).slice(3)).toEqual(["TextReceived"])
    await by.tell(
      INCOMING_TEXTS_PATH,
      incomingTextEvent(textIn(texting, "START"), { autoresponse_type: "START" }),
    )
    expect((await text(texting)).status).toBe(200)
  })

  it("stands beside a text that the carrier was silent about, which went before it", async () => {
    const texting = await by.makeTexting()
    by.server.nextBehavior = "silent"
    await text(texting)
    await by.world.operate("wait")
    await by.tell(
      INCOMING_TEXTS_PATH,
      incomingTextEvent(textIn(texting, "STOP"), { autoresponse_type: "STOP" }),
    )
    expect((await text(texting)).body.error).toBe("opted_out")
    await by.world.operate("clock advance", { duration: "2m" })
    await retryJobsOf(by.world, texting.companyId, "send-text", "ask-text")
    expect(await texting.facts()).toEqual([
      "TextQueued",
      "TextReceived",
      "OptedOutByText",
      "TextAccepted",
    ])
    expect(handedOver(texting)).toHaveLength(1)
  })
})

describe("a text that Telnyx may have", () => {
  it("is never handed over again: what its books do not show in half an hour is given back", async () => {
    const texting = await by.makeTexting()
    by.server.nextBehavior = "silent"
    await text(texting)
    await by.world.operate("wait")
    // It never got it.
    by.server.messages.pop()
    for (const duration of ["5m", "20m", "10m"]) {
      await by.world.operate("clock advance", { duration })
      await retryJobsOf(by.world, texting.companyId, "send-text", "ask-text")
      expect(handedOver(texting)).toHaveLength(1)
    }
    expect(await texting.facts()).toEqual(["TextQueued", "TextRejected"])
    expect((await chargeAmountsOf(by.world, texting)).at(-1)).toMatchObject({ state: "given_back" })
  })

  it("is asked about by whoever has its row after a process that is gone, and not sent", async () => {
    const texting = await by.makeTexting()
    by.server.nextBehavior = "unavailable"
    const { id } = (await text(texting)).body
    await by.world.operate("wait")
    expect(handedOver(texting)).toHaveLength(1)
    // The row as it is left by a process that dies in the call, whose lease has run out.
    const row = { ...(await jobOf(by.world, "send-text", id)), isDispatched: true }
    const asked = () =>
      by.server.requests.filter(({ call }) => call === "GET /detail_records").length
    const before = asked()
    const [sending] = textJobs
    expect(await sending?.perform(by.world.ports, row)).toMatchObject({ result: "rescheduled" })
    expect(asked()).toBe(before + 1)
    expect(handedOver(texting)).toHaveLength(1)
  })

  it("is sent by the news of it, where these come first", async () => {
    const texting = await by.makeTexting()
    by.server.nextBehavior = "silent"
    await text(texting)
    await by.world.operate("wait")
    const kept = by.server.messages.findLast(({ to }) => to === texting.phone)
    if (kept === undefined) throw new Error("Telnyx has no text")
    await by.tell(webhookPathOf(kept), textStatusEvent(kept, "sent"))
    await by.world.operate("wait")
    expect(await texting.facts()).toEqual(["TextQueued", "TextAccepted"])
    expect((await chargeAmountsOf(by.world, texting)).at(-1)).toMatchObject({ state: "final" })
  })
})

describe("an order", () => {
  it("is asked about where Telnyx says that something is new of it", async () => {
    const texting = await by.makeTexting()
    const ordered = by.server.requests.findLast(({ call }) => call === "POST /number_orders")
    const reference = String(ordered?.body["customer_reference"])
    const event = newTelnyxEvent("number_order.complete", { customer_reference: reference })
    expect((await by.tell(INCOMING_TEXTS_PATH, event)).body).toEqual({ taken: 1, known: 0 })
    const { body } = await by.world.call(texting.key, "GET", "/api/v1/phone/state")
    const numbers = body.numbers as readonly { readonly number: string }[]
    expect(numbers.filter(({ number }) => number === texting.number)).toHaveLength(1)
  })

  it.each([
    ["1m", { features: { sms: {} } }, true],
    ["29m", null, null],
    ["31m", null, false],
  ])("that is done, %s later where Telnyx says %j of texting, texts: %j", async (...row) => {
    const [duration, texting, canText] = row
    const company = await makeCompany(by.world)
    const [forSale = ""] = [...by.server.orderableNumbers]
    const usual = by.server.texting
    by.server.texting = null
    by.server.nextBehavior = "silent"
    await requestNumber(by.world, company, forSale)
    by.server.texting = texting
    await by.world.operate("clock advance", { duration })
    await retryJobsOf(by.world, company.companyId, "buy-number", "ask-number")
    const held = (await numbersOf(by.world, company)).find(({ number }) => number === forSale)
    by.server.texting = usual
    expect(held?.["sms"] ?? null).toBe(canText)
  })
})
