/** Numbers that are released, and bought by another company, while calls to them go on. */
import { describe, expect, it } from "vitest"
import { phoneOf } from "../../domain/phone/aggregates.ts"
import { callStreamOf } from "../../domain/voice/aggregates.ts"
import type { CallId } from "../../domain/voice/ids.ts"
import { causedBy } from "../../src/frame/kernel/envelope.ts"
import { newId } from "../../src/frame/kernel/ids.ts"
import { receiveCallEvent } from "../../src/voice/receive.ts"
import { collect } from "../contracts/event-store-fixture.ts"
import { listed as recordingsOf } from "../recordings/recorded.ts"
import type { Called } from "./voice-world.ts"
import {
  PHONES,
  advance,
  callIn,
  callOf,
  does,
  listed,
  makeCalled,
  minutesOfBill,
  sharedVoiceWorld,
} from "./voice-world.ts"

const world = await sharedVoiceWorld()

const ONE = { phones: PHONES.slice(0, 1), screenCalls: false }

async function release(company: Called): Promise<void> {
  const numbers = await world.call(company.key, "GET", "/api/v1/phone/settings")
  const body = { id: numbers.body.numbers[0].id }
  const { status } = await world.call(company.key, "POST", "/api/v1/phone/release", { body })
  expect(status).toBe(200)
  await world.operate("wait")
}

/** Another company that bought the number which the first one released. */
async function buyer({ to }: Called): Promise<Called> {
  const company = await makeCalled(world, ONE)
  const { sealing, runner } = world.ports
  const number = {
    numberId: newId("num"),
    number: await sealing.seal(company.companyId, "company", to),
    numberTag: await sealing.tag(company.companyId, to),
  }
  const kind = { kind: "local", locality: null, region: null, sms: true, mms: false } as const
  const rest = { voice: true, monthlyMicros: 0, paidThrough: null, test: true }
  const command = { type: "AddNumber", ...number, ...kind, ...rest } as const
  await runner.execute(phoneOf(company.companyId), command, causedBy("test buy"))
  await world.operate("wait")
  return company
}

/** What stands in a company's stream of a call. */
const factsOf = ({ companyId }: Called, callId: CallId) =>
  collect(world.ports.store.read(callStreamOf(companyId, callId).stream))

describe("a number that is released", () => {
  it("and bought by another company during a voicemail leaves it whole, and theirs alone", async () => {
    const company = await makeCalled(world)
    const callId = await callIn(world, company)
    await does(world, "say", callId)
    expect(await callOf(world, company, callId)).toMatchObject({ phase: "voicemail" })
    await release(company)
    const other = await buyer(company)
    await advance(world, "7s")
    await does(world, "hang-up", callId)
    expect(await callOf(world, company, callId)).toMatchObject({
      phase: "ended",
      outcome: "voicemail",
      reason: "caller_gone",
      audio: { voicemail: { seconds: 7 } },
    })
    expect(await recordingsOf(world, company)).toMatchObject([
      { id: callId, voicemail: { seconds: 7 } },
    ])
    expect([await factsOf(other, callId), await recordingsOf(world, other)]).toEqual([[], []])
    expect(await minutesOfBill(world, other)).toEqual([])
  })

  it("while two talk loses neither the recording nor the end", async () => {
    const company = await makeCalled(world, { ...ONE, recordCalls: true })
    const callId = await callIn(world, company)
    await does(world, "answer", callId)
    await does(world, "say", callId)
    expect(await callOf(world, company, callId)).toMatchObject({ phase: "talking" })
    await release(company)
    await advance(world, "61s")
    await does(world, "hang-up", callId)
    expect(await listed(world, company)).toMatchObject([
      { outcome: "answered", seconds: 61, recorded: true, recordingSeconds: 61 },
    ])
    expect(await recordingsOf(world, company)).toMatchObject([{ recording: { seconds: 61 } }])
    const states = (await minutesOfBill(world, company)).map(({ state }) => state)
    expect(states).toEqual(["final", "final"])
  })

  it("while it rings lets the call be taken, and lets the caller go", async () => {
    for (const isTaken of [true, false]) {
      const company = await makeCalled(world, ONE)
      const callId = await callIn(world, company)
      await release(company)
      const other = await buyer(company)
      if (isTaken) await does(world, "answer", callId)
      await does(world, "hang-up", callId)
      expect(await callOf(world, company, callId)).toMatchObject({
        phase: "ended",
        outcome: isTaken ? "answered" : "missed",
        reason: "caller_gone",
      })
      expect(await factsOf(other, callId)).toEqual([])
    }
  })

  it("and bought rings nobody else where its carrier tells of the same call once more", async () => {
    const company = await makeCalled(world, ONE)
    const callId = await callIn(world, company)
    const { carrierRef, startedAt } = (await callOf(world, company, callId)).offered
    await release(company)
    const other = await buyer(company)
    const came = { ref: carrierRef, from: "+12125550199", to: company.to, startedAt }
    const event = { is: "call_came", ...came, attestation: null } as const
    const place = await receiveCallEvent(world.ports, event, causedBy("test twice"))
    expect(place).toEqual({ companyId: company.companyId, callId })
    expect([await factsOf(other, callId), await listed(world, other)]).toEqual([[], []])
  })
})
