/** Somebody texted STOP and only the carrier knows of it: it refuses what is sent to them. */
import { afterEach, describe, expect, it, vi } from "vitest"
import type { CarrierAnswer } from "../../adapters/providers/carrier/port.ts"
import { ProviderSilent } from "../../adapters/providers/outside.ts"
import type { Stamp } from "../../domain/kernel/decider.ts"
import type { StopAtCarrier } from "../../domain/phone/recipient.ts"
import { recipient } from "../../domain/phone/recipient.ts"
import { given } from "../support/spec.ts"
import { makeCompany, sharedWorld } from "../support/world.ts"
import { FRESH, NOW, accepted, queued, queuedNext, rejected, standing } from "./recipient-facts.ts"
import { chargesOf, newNumber, sendText } from "./texting.ts"

const stop: StopAtCarrier & Stamp = {
  type: "StopAtCarrier",
  at: NOW,
  messageId: "msg_1",
  phone: "s1.rcp.bnVtYmVy",
}
const stopped = (now = standing({ stoppedAt: NOW })) =>
  ({ type: "StoppedAtCarrier", at: NOW, standing: now, phone: stop.phone }) as const
const refused = (changed: Parameters<typeof rejected>[0] = {}) =>
  rejected({ errorCode: "opted_out", ...changed })

describe("StopAtCarrier", () => {
  it("refuses the text and stops all others, in one append", () => {
    const now = { ...FRESH, stoppedAt: NOW }
    given(recipient, queued()).when(stop).records(refused(), stopped(now))
    given(recipient, queued(), queuedNext())
      .when({ ...stop, messageId: "msg_2" })
      .records(refused({ messageId: "msg_2", standing: standing() }), stopped())
  })

  it("records nothing of a text that ended, and stops nobody twice", () => {
    given(recipient).when(stop).recordsNothing()
    given(recipient, queued(), accepted()).when(stop).recordsNothing()
    const out = standing({ stoppedAt: NOW - 5, stopKeyword: "STOP" })
    const after = { ...out, firstMessageId: null }
    given(recipient, queued({ standing: out }))
      .when(stop)
      .records(refused({ standing: after }))
  })
})

const world = await sharedWorld({ rateLimits: "off", calls: "free", clock: "forward" })
const company = await makeCompany(world)
afterEach(() => {
  vi.restoreAllMocks()
})

const carrierSays = (answer: CarrierAnswer) =>
  vi.spyOn(world.ports.carrier, "send").mockResolvedValue(answer)

/** Whether somebody is opted out, and by what. */
async function optOutOf(phone: string) {
  await world.operate("wait")
  const { body } = await world.call(company.key, "GET", "/api/v1/phone/opt-outs")
  return body.optOuts.find((one: { phone: string }) => one.phone === phone)
}

const send = (to: string) => sendText(world, company.key, { to })
const textIn = async (from: string, body: string) => {
  const { numbers } = await world.operate("number list", { company: company.companyId })
  const to = numbers[0].number
  return world.operate("carrier text-in", { company: company.companyId, from, to, body })
}

describe("a text that the carrier refuses for a STOP", () => {
  it("is given back, once: the next is 409, and only their START ends it", async () => {
    const to = newNumber()
    carrierSays({ answer: "rejected", errorCode: "opted_out" })
    expect((await send(to)).status).toBe(200)
    await world.operate("wait")
    expect((await chargesOf(world, company)).at(-1)).toMatchObject({ state: "given_back" })
    expect(await optOutOf(to)).toMatchObject({ status: "out", source: "text", keyword: null })
    const charges = (await chargesOf(world, company)).length
    const again = await send(to)
    expect([again.status, again.body.error]).toEqual([409, "opted_out"])
    expect(await chargesOf(world, company)).toHaveLength(charges)
    const body = { phone: to }
    const undo = await world.call(company.key, "DELETE", "/api/v1/phone/opt-outs", { body })
    expect([undo.status, undo.body.error]).toEqual([409, "conflict"])
    vi.restoreAllMocks()
    // The STOP itself, late, changes nothing.
    await textIn(to, "STOP")
    expect(await optOutOf(to)).toMatchObject({ status: "out" })
    await textIn(to, "START")
    expect((await send(to)).status).toBe(200)
  })

  it("ends an opt-out of the API together with it, where they text START", async () => {
    const to = newNumber()
    carrierSays({ answer: "rejected", errorCode: "opted_out" })
    await send(to)
    await world.operate("wait")
    const body = { phone: to }
    await world.call(company.key, "POST", "/api/v1/phone/opt-outs", { body })
    vi.restoreAllMocks()
    await textIn(to, "START")
    expect(await optOutOf(to)).toMatchObject({ status: "in" })
  })
})

describe("a STOP while the carrier is silent about a text", () => {
  it("stops the next one, and the text in doubt is asked about and never sent again", async () => {
    const to = newNumber()
    const sent = vi
      .spyOn(world.ports.carrier, "send")
      .mockRejectedValue(new ProviderSilent("the carrier did not answer"))
    await send(to)
    await world.operate("wait")
    await textIn(to, "STOP")
    const times = () => sent.mock.calls.filter(([text]) => text.body.startsWith("Hello")).length
    expect(times()).toBe(1)
    expect((await send(to)).status).toBe(409)
    await world.operate("clock advance", { duration: "11m" })
    await world.operate("wait")
    expect(times()).toBe(1)
    expect(await optOutOf(to)).toMatchObject({ status: "out", keyword: "STOP" })
  })
})
