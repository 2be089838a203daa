/** Calls from the first ring to the bill. */
import { describe, expect, it } from "vitest"
import type { CallId } from "../../domain/voice/ids.ts"
import { causedBy } from "../../src/frame/kernel/envelope.ts"
import { callIdOf, receiveCallEvent } from "../../src/voice/receive.ts"
import {
  MINUTE,
  PHONES,
  advance,
  callIn,
  callOf,
  does,
  listed,
  makeCalled,
  minutesOfBill,
  newCaller,
  playCall,
  sharedVoiceWorld,
  spentOf,
} from "./voice-world.ts"

const world = await sharedVoiceWorld()

describe("a call that waits for an operator", () => {
  it("rings all, is taken by who presses 1, talks, and costs each minute that began", async () => {
    const company = await makeCalled(world, { phones: PHONES })
    const callId = await callIn(world, company)
    expect(await callOf(world, company, callId)).toMatchObject({ phase: "ringing", paid: 1 })
    expect(await listed(world, company)).toMatchObject([{ status: "ringing", outcome: null }])
    await does(world, "answer", callId, { leg: 2 })
    await does(world, "press", callId, { digits: "1" })
    const talking = await callOf(world, company, callId)
    expect(talking).toMatchObject({ phase: "talking", acceptedLeg: 2 })
    expect(talking.legs.map(({ leg, goneAt }) => [leg, goneAt !== null])).toEqual([
      [1, true],
      [2, false],
      [3, true],
    ])
    await advance(world, "150s")
    await does(world, "hang-up", callId)
    const [call] = await listed(world, company)
    expect(call).toMatchObject({
      direction: "in",
      to: company.to,
      forwardedTo: PHONES[1],
      status: "completed",
      outcome: "answered",
      seconds: 150,
      recorded: false,
      recordingSeconds: 0,
      voicemailSeconds: null,
      chargedMicros: 3 * MINUTE,
    })
    const states = (await minutesOfBill(world, company)).map(({ state }) => state)
    expect(states).toEqual(["final", "final", "final"])
    expect(await spentOf(world, company)).toBe(3 * MINUTE)
  })

  it("that nobody takes is greeted, and what is said is a voicemail", async () => {
    const company = await makeCalled(world, { phones: PHONES.slice(0, 1), ringSeconds: 10 })
    const callId = await callIn(world, company)
    await advance(world, "11s")
    expect(await callOf(world, company, callId)).toMatchObject({ phase: "greeting" })
    await does(world, "say", callId)
    expect(await callOf(world, company, callId)).toMatchObject({ phase: "voicemail" })
    await advance(world, "20s")
    await does(world, "hang-up", callId)
    expect(await listed(world, company)).toMatchObject([
      {
        outcome: "voicemail",
        seconds: 21,
        voicemailSeconds: 20,
        forwardedTo: null,
        chargedMicros: MINUTE,
      },
    ])
  })

  it("that is given up while it rings is missed and costs nothing", async () => {
    const company = await makeCalled(world, { phones: PHONES })
    const callId = await callIn(world, company)
    await does(world, "hang-up", callId)
    const call = await callOf(world, company, callId)
    expect(call.legs.every(({ goneAt }) => goneAt !== null)).toBe(true)
    expect(await listed(world, company)).toMatchObject([{ outcome: "missed", chargedMicros: 0 }])
    expect(await minutesOfBill(world, company)).toMatchObject([{ kept: 0, state: "given_back" }])
  })

  it("is recorded once both heard the notice", async () => {
    const set = { phones: PHONES.slice(0, 1), screenCalls: false, recordCalls: true }
    const company = await makeCalled(world, set)
    const callId = await callIn(world, company)
    await does(world, "answer", callId)
    expect(await callOf(world, company, callId)).toMatchObject({
      phase: "accepted",
      isSaying: true,
    })
    await does(world, "say", callId)
    await advance(world, "30s")
    await does(world, "hang-up", callId, { leg: 1 })
    const [call] = await listed(world, company)
    expect(call).toMatchObject({ outcome: "answered", recorded: true, recordingSeconds: 30 })
  })
})

describe("a call that is played", () => {
  it("is answered, as long as was said, and paid in order", async () => {
    const company = await makeCalled(world, { phones: PHONES, recordCalls: true })
    await playCall(world, company, "answered", { seconds: "130.5", recorded: true })
    expect(await listed(world, company)).toMatchObject([
      {
        outcome: "answered",
        seconds: 131,
        recorded: true,
        recordingSeconds: 131,
        chargedMicros: 3 * MINUTE,
      },
    ])
    const bill = await minutesOfBill(world, company)
    expect(bill.map(({ minute, state }) => [minute, state])).toEqual([
      [1, "final"],
      [2, "final"],
      [3, "final"],
    ])
  })

  it("is a voicemail, or missed", async () => {
    const company = await makeCalled(world, { phones: PHONES })
    await playCall(world, company, "voicemail", { seconds: "20", voicemailSeconds: 12 })
    await playCall(world, company, "missed")
    expect(await listed(world, company)).toMatchObject([
      { outcome: "voicemail", seconds: 20, voicemailSeconds: 12, chargedMicros: MINUTE },
      { outcome: "missed", seconds: 0, voicemailSeconds: null, chargedMicros: 0 },
    ])
  })
})

describe("a call that comes when all slots are taken", () => {
  it("has the slot of one that has just ended, before its job frees it", async () => {
    const company = await makeCalled(world, { phones: PHONES.slice(0, 1) })
    const callIds: string[] = []
    for (let i = 0; i < 20; i += 1) callIds.push(await callIn(world, company))
    const { companyId, to } = company
    const [callId] = callIds as [CallId]
    const leg = { of: "leg", companyId, callId, leg: 0, ref: null } as const
    const at = world.ports.clock.now()
    const gone = { is: "leg_gone", leg, goneAt: at, answeredAt: null } as const
    await receiveCallEvent(world.ports, gone, causedBy("test end"))
    const ref = `next-${to}`
    const next = { ref, from: newCaller(), to, startedAt: at, attestation: null }
    await receiveCallEvent(world.ports, { is: "call_came", ...next }, causedBy("test next"))
    expect(await callOf(world, company, callIdOf(ref))).toMatchObject({ phase: "ringing" })
  })
})
