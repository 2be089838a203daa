/** Calls from the first ring to the bill: what is told on them, and what becomes of them when their number is released. */
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

describe("a call that waits for an operator", () => {
  it("rings all, is taken by who presses 1, talks, and costs each minute that began", async () => {
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

  it("that nobody takes is greeted, and what is said is a voicemail", async () => {
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

  it("that is given up while it rings is missed and costs nothing", async () => {
    const company = await makeCallableCompany(world, { phones: PHONES })
    const callId = await startIncomingCall(world, company)
    await performCallAction(world, "hang-up", callId)
    const call = await liveCallOf(world, company, callId)
    expect(call.legs.every(({ goneAt }) => goneAt !== null)).toBe(true)
    expect(await listCallsOf(world, company)).toMatchObject([
      { outcome: "missed", chargedMicros: 0 },
    ])
    expect(await billedMinutesOf(world, company)).toMatchObject([{ kept: 0, state: "given_back" }])
  })

  it("is recorded once both heard the notice", async () => {
    const set = { phones: PHONES.slice(0, 1), screenCalls: false, recordCalls: true }
    const company = await makeCallableCompany(world, set)
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

describe("a call that is played", () => {
  it("is answered, as long as was said, and paid in order", async () => {
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

  it("is a voicemail, or missed", async () => {
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

describe("a call that comes when all slots are taken", () => {
  /** A company of which 20 calls ring, the first of them, and the phase of the next one. */
  async function full() {
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

  it("has the slot of one that has just ended, before its job frees it", async () => {
    const { companyId, callId, at, phaseOfNext } = await full()
    const leg = { kind: "leg", companyId, callId, leg: 0, ref: null } as const
    const gone = { type: "leg_gone", leg, goneAt: at, answeredAt: null } as const
    await receiveCallEvent(world.ports, gone, causedBy("test end"))
    expect(await phaseOfNext()).toBe("ringing")
  })

  it("has a slot that a job frees while it looks for one", async () => {
    const { companyId, callId, phaseOfNext } = await full()
    const { runner } = world.ports
    const really = runner.execute.bind(runner)
    const free = { type: "ReleaseSlot" as const, holderId: callId }
    const isRefused = vi.fn<() => void>()
    vi.spyOn(runner, "execute").mockImplementation(async (...asked: Parameters<typeof really>) => {
      const done = await really(...asked)
      if (!done.accepted) {
        isRefused()
        await really(callSlotsStreamOf(companyId), free, causedBy("test"))
      }
      return done
    })
    expect(await phaseOfNext()).toBe("ringing")
    expect(isRefused).toHaveBeenCalledOnce()
  })
})
afterEach(() => {
  vi.restoreAllMocks()
})

describe("both who talk", () => {
  it("hear the notice that the settings show, where nobody chose other words", async () => {
    const set = { phones: PHONES.slice(0, 1), screenCalls: false, recordCalls: true }
    const company = await makeCallableCompany(world, set)
    const doing = vi.spyOn(world.ports.voice, "execute")
    const callId = await startIncomingCall(world, company)
    await performCallAction(world, "answer", callId)
    const told = doing.mock.calls.map(([command]) => command)
    const said = told.flatMap((command) => (command.word === "say" ? [command.text] : []))
    expect(said).toEqual([DEFAULT_RECORDING_NOTICE, DEFAULT_RECORDING_NOTICE])
    const { body } = await world.call(company.key, "GET", "/api/v1/phone/settings")
    expect(body.numbers[0].recordingNotice).toBe(DEFAULT_RECORDING_NOTICE)
  })
})

describe("an operator", () => {
  it("is shown who was asked, who took the call and who talks", async () => {
    const company = await makeCallableCompany(world, {
      phones: PHONES.slice(0, 2),
      recordCalls: true,
    })
    const callId = await startIncomingCall(world, company)
    await performCallAction(world, "answer", callId, { leg: 1 })
    // Pressing any other phone's keys is refused, with how each stands.
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
    const heard = await world.operate("call say", { callId })
    expect([heard.phase, heard.legs[0]]).toEqual(["talking", { leg: 1, state: "talking" }])
  })

  it("who can do nothing on a call is told where no phone was called", async () => {
    const company = await makeCallableCompany(world)
    const callId = await startIncomingCall(world, company)
    await expect(performCallAction(world, "answer", callId)).rejects.toThrow(
      "This action is not possible now: the call is greeting, and no phone was called.",
    )
  })

  it("has a whole call played with its minutes, each of which is settled", async () => {
    const company = await makeCallableCompany(world, { phones: PHONES.slice(0, 1) })
    const called = { from: newCaller(), to: company.number, outcome: "answered", seconds: "600" }
    expect(await world.operate("carrier call-in", called)).toMatchObject({ minutesPaid: 10 })
    const minutes = await billedMinutesOf(world, company)
    expect(minutes.map(({ kept, state }) => [kept, state])).toEqual(
      Array.from({ length: 10 }, () => [CALL_MINUTE_MICROS, "final"]),
    )
  })
})

const ONE = { phones: PHONES.slice(0, 1), screenCalls: false }

async function release(company: CallableCompany): Promise<void> {
  const numbers = await world.call(company.key, "GET", "/api/v1/phone/settings")
  const body = { id: numbers.body.numbers[0].id }
  const { status } = await world.call(company.key, "POST", "/api/v1/phone/release", { body })
  expect(status).toBe(200)
  await world.operate("wait")
}

/** Another company that bought the number which the first one released. */
async function buyer({ number: to }: CallableCompany): Promise<CallableCompany> {
  const company = await makeCallableCompany(world, ONE)
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

/** What stands in a company's stream of a call. */
const factsOf = ({ companyId }: CallableCompany, callId: CallId) =>
  collectEvents(world.ports.store.read(callStreamOf(companyId, callId).stream))

describe("a number that is released", () => {
  it("and bought by another company during a voicemail leaves it whole, and theirs alone", async () => {
    const company = await makeCallableCompany(world)
    const callId = await startIncomingCall(world, company)
    await performCallAction(world, "say", callId)
    expect(await liveCallOf(world, company, callId)).toMatchObject({ phase: "voicemail" })
    await release(company)
    const other = await buyer(company)
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

  it("while two talk loses neither the recording nor the end", async () => {
    const company = await makeCallableCompany(world, { ...ONE, recordCalls: true })
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

  it("while it rings lets the call be taken, and lets the caller go", async () => {
    for (const isTaken of [true, false]) {
      const company = await makeCallableCompany(world, ONE)
      const callId = await startIncomingCall(world, company)
      await release(company)
      const other = await buyer(company)
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

  it("and bought rings nobody else where its carrier tells of the same call once more", async () => {
    const company = await makeCallableCompany(world, ONE)
    const callId = await startIncomingCall(world, company)
    const { carrierRef, startedAt } = (await liveCallOf(world, company, callId)).offered
    await release(company)
    const other = await buyer(company)
    const came = { ref: carrierRef, from: "+12125550199", to: company.number, startedAt }
    const event = { type: "call_came", ...came, attestation: null } as const
    const place = await receiveCallEvent(world.ports, event, causedBy("test twice"))
    expect(place).toEqual({ companyId: company.companyId, callId })
    expect([await factsOf(other, callId), await listCallsOf(world, other)]).toEqual([[], []])
  })
})
