import { expect, it, vi } from "vitest"
import { ProviderUnavailable } from "../../adapters/providers/provider-errors.ts"
import { fundsMicrosOf, makeCompany, ownWorld } from "../support/world.ts"
import { SEGMENT_MICROS, callChargesMicros, retryJobsOf } from "./texts.ts"

const TEXT_JOB_KINDS = ["send-text", "ask-text"]

const world = await ownWorld("time")

it("a text that the carrier did not accept for three days is refunded and never sent", async () => {
  const { key, companyId } = await makeCompany(world)
  await world.operate("simulator set", { name: "carrier", outcome: "unavailable" })
  await world.call(key, "POST", "/api/v1/phone/messages", {
    body: { to: "+14155550123", body: "STOP ends this" },
  })
  await world.operate("wait")
  await world.operate("clock advance", { duration: "73h" })
  await retryJobsOf(world, companyId, ...TEXT_JOB_KINDS)
  const list = await world.call(key, "GET", "/api/v1/phone/messages")
  expect(list.body.messages).toMatchObject([{ status: "failed", errorCode: "unknown_to_carrier" }])
  expect(await fundsMicrosOf(world, { companyId })).toBe(
    50_000_000 - (await callChargesMicros(world, companyId)),
  )
})

it("a text that the carrier accepted before it became unavailable is not refunded", async () => {
  const company = await makeCompany(world)
  const { carrier } = world.ports
  const send = carrier.send.bind(carrier)
  const sending = vi.spyOn(carrier, "send").mockImplementation(async (text) => {
    // The carrier accepts the text, but its answer is lost.
    await send(text)
    throw new ProviderUnavailable("the carrier answered 503")
  })
  await world.operate("simulator set", { name: "carrier", outcome: "ok" })
  await world.call(company.key, "POST", "/api/v1/phone/messages", {
    body: { to: "+14155550124", body: "Hello" },
  })
  await world.operate("wait")
  await world.operate("clock advance", { duration: "73h" })
  await retryJobsOf(world, company.companyId, ...TEXT_JOB_KINDS)
  sending.mockRestore()
  const list = await world.call(company.key, "GET", "/api/v1/phone/messages")
  expect(list.body.messages).toMatchObject([{ status: "sent" }])
  const spent = await callChargesMicros(world, company.companyId)
  expect(await fundsMicrosOf(world, company)).toBe(50_000_000 - spent - SEGMENT_MICROS)
})
