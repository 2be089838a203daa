/** Calls from the first ring to the bill, including notices and the release of their number. */
import { describe, expect, it, afterEach, vi } from "vitest"
import type { CallId } from "../../domain/kernel/calls.ts"
import { causedBy } from "../../src/frame/kernel/envelope.ts"
import { callIdOf, receiveCallEvent } from "../../src/voice/receive-call-event.ts"
import type { CallableCompany } from "./voice-world.ts"
import {
  CALL_MINUTE_MICROS,
  PHONES,
  startIncomingCall,
  liveCallOf,
  performCallAction,
  listCallsOf,
  makeCallableCompany,
  billedMinutesOf,
  newCaller,
  runIncomingCall,
  sharedVoiceWorld,
} from "./voice-world.ts"
import { DEFAULT_RECORDING_NOTICE } from "../../domain/phone/number-settings.ts"
import { phoneStreamOf } from "../../domain/phone/aggregates.ts"
import { callSlotsStreamOf, callStreamOf } from "../../domain/voice/aggregates.ts"
import { newId } from "../../src/frame/kernel/ids.ts"
import { collectEvents } from "../contracts/event-store-fixture.ts"
import { listRecordingsOf as recordingsOf } from "../recordings/recording-world.ts"
import { advance, spentMicrosOf } from "../support/world.ts"

const world = await sharedVoiceWorld()

describe("a call controlled by an operator", () => {
  it("rings all phones, is accepted by pressing 1, and costs each minute that began", async () => {
    const company = await makeCallableCompany(world, { phones: PHONES })
    const callId = await startIncomingCall(world, company)
    expect(await liveCallOf(world, company, callId)).toMatchObject({ phase: "ringing", paid: 1 })
    expect(await listCallsOf(world, company)).toMatchObject([{ status: "ringing", outcome: null }])
    await performCallAction(world, "answer", callId, { leg: 2 })
    await performCallAction(world, "press", callId, { digits: "1" })
    const talking = await liveCallOf(world, company, callId)
    expect(talking).toMatchObject({ phase: "talking", acceptedLeg: 2 })
    expect(talking.legs.map(({ leg, goneAt }) => [leg, goneAt !== null])).toEqual([
      [1, true],
      [2, false],
      [3, true],
    ])
    await advance(world, "150s")
    await performCallAction(world, "hang-up", callId)
    const [call] = await listCallsOf(world, company)
    expect(call).toMatchObject({
      direction: "in",
      to: company.number,
      forwardedTo: PHONES[1],
      status: "completed",
      outcome: "answered",
      seconds: 150,
      recorded: false,
      recordingSeconds: 0,
      voicemailSeconds: null,
      chargedMicros: 3 * CALL_MINUTE_MICROS,
    })
    const states = (await billedMinutesOf(world, company)).map(({ state }) => state)
    expect(states).toEqual(["final", "final", "final"])
    expect(await spentMicrosOf(world, company)).toBe(3 * CALL_MINUTE_MICROS)
  })

  it("that is not accepted is greeted, and leaves a voicemail", async () => {
    const company = await makeCallableCompany(world, {
      phones: PHONES.slice(0, 1),
      ringSeconds: 10,
    })
    const callId = await startIncomingCall(world, company)
    await advance(world, "11s")
    expect(await liveCallOf(world, company, callId)).toMatchObject({ phase: "greeting" })
    await performCallAction(world, "say", callId)
    expect(await liveCallOf(world, company, callId)).toMatchObject({ phase: "voicemail" })
    await advance(world, "20s")
    await performCallAction(world, "hang-up", callId)
    expect(await listCallsOf(world, company)).toMatchObject([
      {
        outcome: "voicemail",
        seconds: 21,
        voicemailSeconds: 20,
        forwardedTo: null,
        chargedMicros: CALL_MINUTE_MICROS,
      },
    ])
  })

  it("whose caller hangs up while it rings is missed and costs nothing", async () => {
    const company = await makeCallableCompany(world, { phones: PHONES })
    const callId = await startIncomingCall(world, company)
    await performCallAction(world, "hang-up", callId)
    const call = await liveCallOf(world, company, callId)
    expect(call.legs.every(({ goneAt }) => goneAt !== null)).toBe(true)
    expect(await listCallsOf(world, company)).toMatchObject([
      { outcome: "missed", chargedMicros: 0 },
    ])
    expect(await billedMinutesOf(world, company)).toMatchObject([
      { netMicros: 0, state: "given_back" },
    ])
  })

  it("is recorded once both sides have heard the notice", async () => {
    const setup = { phones: PHONES.slice(0, 1), screenCalls: false, recordCalls: true }
    const company = await makeCallableCompany(world, setup)
    const callId = await startIncomingCall(world, company)
    await performCallAction(world, "answer", callId)
    expect(await liveCallOf(world, company, callId)).toMatchObject({
      phase: "accepted",
      isSaying: true,
    })
    await performCallAction(world, "say", callId)
    await advance(world, "30s")
    await performCallAction(world, "hang-up", callId, { leg: 1 })
    const [call] = await listCallsOf(world, company)
    expect(call).toMatchObject({ outcome: "answered", recorded: true, recordingSeconds: 30 })
  })
})

describe("a call run by a script", () => {
  it("is answered for the requested time, and paid in order", async () => {
    const company = await makeCallableCompany(world, { phones: PHONES, recordCalls: true })
    await runIncomingCall(world, company, "answered", { seconds: "130.5", recorded: true })
    expect(await listCallsOf(world, company)).toMatchObject([
      {
        outcome: "answered",
        seconds: 131,
        recorded: true,
        recordingSeconds: 131,
        chargedMicros: 3 * CALL_MINUTE_MICROS,
      },
    ])
    const bill = await billedMinutesOf(world, company)
    expect(bill.map(({ minute, state }) => [minute, state])).toEqual([
      [1, "final"],
      [2, "final"],
      [3, "final"],
    ])
  })

  it("can end as a voicemail or as missed", async () => {
    const company = await makeCallableCompany(world, { phones: PHONES })
    await runIncomingCall(world, company, "voicemail", { seconds: "20", voicemailSeconds: 12 })
    await runIncomingCall(world, company, "missed")
    expect(await listCallsOf(world, company)).toMatchObject([
      {
        outcome: "voicemail",
        seconds: 20,
        voicemailSeconds: 12,
        chargedMicros: CALL_MINUTE_MICROS,
      },
      { outcome: "missed", seconds: 0, voicemailSeconds: null, chargedMicros: 0 },
    ])
  })
})

describe("a call when all slots are reserved", () => {
  /** A company with 20 ringing calls: the first call, and a function that starts the next one. */
  async function reserveAllSlots() {
    const company = await makeCallableCompany(world, { phones: PHONES.slice(0, 1) })
    const callIds: string[] = []
    for (let i = 0; i < 20; i += 1) callIds.push(await startIncomingCall(world, company))
    const at = world.ports.clock.now()
    const ref = `next-${company.number}`
    const next = { ref, from: newCaller(), to: company.number, startedAt: at, attestation: null }
    const phaseOfNext = async () => {
      await receiveCallEvent(world.ports, { type: "call_came", ...next }, causedBy("test next"))
      return (await liveCallOf(world, company, callIdOf(ref))).phase
    }
    return { companyId: company.companyId, callId: callIds[0] as CallId, at, phaseOfNext }
  }

  it("gets the slot of a call that has just ended, before a job frees it", async () => {
    const { companyId, callId, at, phaseOfNext } = await reserveAllSlots()
    const leg = { kind: "leg", companyId, callId, leg: 0, ref: null } as const
    const hangUp = { type: "leg_gone", leg, goneAt: at, answeredAt: null } as const
    await receiveCallEvent(world.ports, hangUp, causedBy("test end"))
    expect(await phaseOfNext()).toBe("ringing")
  })

  it("gets a slot that a job frees in the meantime", async () => {
    const { companyId, callId, phaseOfNext } = await reserveAllSlots()
    const { runner } = world.ports
    const originalExecute = runner.execute.bind(runner)
    const free = { type: "ReleaseSlot" as const, holderId: callId }
    const isRefused = vi.fn<() => void>()
    vi.spyOn(runner, "execute").mockImplementation(
      async (...args: Parameters<typeof originalExecute>) => {
        const result = await originalExecute(...args)
        if (!result.accepted) {
          isRefused()
          await originalExecute(callSlotsStreamOf(companyId), free, causedBy("test"))
        }
        return result
      },
    )
    expect(await phaseOfNext()).toBe("ringing")
    expect(isRefused).toHaveBeenCalledOnce()
  })
})
afterEach(() => {
  vi.restoreAllMocks()
})

describe("both sides of a call", () => {
  it("hear the default notice, which the settings show", async () => {
    const setup = { phones: PHONES.slice(0, 1), screenCalls: false, recordCalls: true }
    const company = await makeCallableCompany(world, setup)
    const execute = vi.spyOn(world.ports.voice, "execute")
    const callId = await startIncomingCall(world, company)
    await performCallAction(world, "answer", callId)
    const commands = execute.mock.calls.map(([command]) => command)
    const notices = commands.flatMap((command) => (command.word === "say" ? [command.text] : []))
    expect(notices).toEqual([DEFAULT_RECORDING_NOTICE, DEFAULT_RECORDING_NOTICE])
    const { body } = await world.call(company.key, "GET", "/api/v1/phone/settings")
    expect(body.numbers[0].recordingNotice).toBe(DEFAULT_RECORDING_NOTICE)
  })
})

describe("an operator", () => {
  it("sees the state of each leg", async () => {
    const company = await makeCallableCompany(world, {
      phones: PHONES.slice(0, 2),
      recordCalls: true,
    })
    const callId = await startIncomingCall(world, company)
    await performCallAction(world, "answer", callId, { leg: 1 })
    // A key press on another phone is rejected, with the state of each leg.
    await expect(
      performCallAction(world, "press", callId, { leg: 2, digits: "1" }),
    ).rejects.toThrow(
      "This action is not possible now: the call is ringing, and leg 1 is asked, leg 2 is ringing.",
    )
    const pressed = await world.operate("call press", { callId, digits: "1" })
    expect(pressed.legs).toEqual([
      { leg: 1, state: "accepted" },
      { leg: 2, state: "gone" },
    ])
    await world.operate("wait")
    const played = await world.operate("call say", { callId })
    expect([played.phase, played.legs[0]]).toEqual(["talking", { leg: 1, state: "talking" }])
  })

  it("gets an error that says that no phone was called", async () => {
    const company = await makeCallableCompany(world)
    const callId = await startIncomingCall(world, company)
    await expect(performCallAction(world, "answer", callId)).rejects.toThrow(
      "This action is not possible now: the call is greeting, and no phone was called.",
    )
  })

  it("runs a complete call, each minute of which is settled", async () => {
    const company = await makeCallableCompany(world, { phones: PHONES.slice(0, 1) })
    const input = { from: newCaller(), to: company.number, outcome: "answered", seconds: "600" }
    expect(await world.operate("carrier call-in", input)).toMatchObject({ minutesPaid: 10 })
    const minutes = await billedMinutesOf(world, company)
    expect(minutes.map(({ netMicros, state }) => [netMicros, state])).toEqual(
      Array.from({ length: 10 }, () => [CALL_MINUTE_MICROS, "final"]),
    )
  })
})

const ONE_PHONE = { phones: PHONES.slice(0, 1), screenCalls: false }

async function release(company: CallableCompany): Promise<void> {
  const numbers = await world.call(company.key, "GET", "/api/v1/phone/settings")
  const body = { id: numbers.body.numbers[0].id }
  const { status } = await world.call(company.key, "POST", "/api/v1/phone/release", { body })
  expect(status).toBe(200)
  await world.operate("wait")
}

/** Another company that buys a released number. */
async function makeBuyer({ number: to }: CallableCompany): Promise<CallableCompany> {
  const company = await makeCallableCompany(world, ONE_PHONE)
  const { sealing, runner } = world.ports
  const number = {
    numberId: newId("num"),
    number: await sealing.seal(company.companyId, "company", to),
    numberTag: await sealing.tag(company.companyId, to),
  }
  const kind = { kind: "local", locality: null, region: null, sms: true, mms: false } as const
  const rest = { voice: true, monthlyMicros: 0, paidThrough: null, test: true }
  const command = { type: "AddNumber", ...number, ...kind, ...rest } as const
  await runner.execute(phoneStreamOf(company.companyId), command, causedBy("test buy"))
  await world.operate("wait")
  return company
}

const factsOf = ({ companyId }: CallableCompany, callId: CallId) =>
  collectEvents(world.ports.store.read(callStreamOf(companyId, callId).stream))

describe("a number that is released", () => {
  it("and bought by another company during a voicemail leaves the voicemail to the first company", async () => {
    const company = await makeCallableCompany(world)
    const callId = await startIncomingCall(world, company)
    await performCallAction(world, "say", callId)
    expect(await liveCallOf(world, company, callId)).toMatchObject({ phase: "voicemail" })
    await release(company)
    const other = await makeBuyer(company)
    await advance(world, "7s")
    await performCallAction(world, "hang-up", callId)
    expect(await liveCallOf(world, company, callId)).toMatchObject({
      phase: "ended",
      outcome: "voicemail",
      reason: "caller_hung_up",
      audio: { voicemail: { seconds: 7 } },
    })
    expect(await recordingsOf(world, company)).toMatchObject([
      { id: callId, voicemail: { seconds: 7 } },
    ])
    expect([await factsOf(other, callId), await recordingsOf(world, other)]).toEqual([[], []])
    expect(await billedMinutesOf(world, other)).toEqual([])
  })

  it("during a conversation keeps the recording and the end of the call", async () => {
    const company = await makeCallableCompany(world, { ...ONE_PHONE, recordCalls: true })
    const callId = await startIncomingCall(world, company)
    await performCallAction(world, "answer", callId)
    await performCallAction(world, "say", callId)
    expect(await liveCallOf(world, company, callId)).toMatchObject({ phase: "talking" })
    await release(company)
    await advance(world, "61s")
    await performCallAction(world, "hang-up", callId)
    expect(await listCallsOf(world, company)).toMatchObject([
      { outcome: "answered", seconds: 61, recorded: true, recordingSeconds: 61 },
    ])
    expect(await recordingsOf(world, company)).toMatchObject([{ recording: { seconds: 61 } }])
    const states = (await billedMinutesOf(world, company)).map(({ state }) => state)
    expect(states).toEqual(["final", "final"])
  })

  it("while it rings still lets the call be accepted or missed", async () => {
    for (const isTaken of [true, false]) {
      const company = await makeCallableCompany(world, ONE_PHONE)
      const callId = await startIncomingCall(world, company)
      await release(company)
      const other = await makeBuyer(company)
      if (isTaken) await performCallAction(world, "answer", callId)
      await performCallAction(world, "hang-up", callId)
      expect(await liveCallOf(world, company, callId)).toMatchObject({
        phase: "ended",
        outcome: isTaken ? "answered" : "missed",
        reason: "caller_hung_up",
      })
      expect(await factsOf(other, callId)).toEqual([])
    }
  })

  it("and bought does not ring the new company if the carrier reports the same call again", async () => {
    const company = await makeCallableCompany(world, ONE_PHONE)
    const callId = await startIncomingCall(world, company)
    const { carrierRef, startedAt } = (await liveCallOf(world, company, callId)).offered
    await release(company)
    const other = await makeBuyer(company)
    const call = { ref: carrierRef, from: "+12125550199", to: company.number, startedAt }
    const event = { type: "call_came", ...call, attestation: null } as const
    const result = await receiveCallEvent(world.ports, event, causedBy("test twice"))
    expect(result).toEqual({ companyId: company.companyId, callId })
    expect([await factsOf(other, callId), await listCallsOf(world, other)]).toEqual([[], []])
  })
})
