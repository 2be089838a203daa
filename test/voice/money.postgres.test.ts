/** A call's minutes with limits and funds, and the lists of calls for callers and operators. */
import { describe, expect, it } from "vitest"
import { causedBy } from "../../src/frame/kernel/envelope.ts"
import { receiveCallEvent } from "../../src/voice/receive-call-event.ts"
import { advance, makeCompany, setLimit, spentMicrosOf } from "../support/world.ts"
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
  runIncomingCall,
  sharedVoiceWorld,
  switchCountry,
  CALLS_PATH,
} from "./voice-world.ts"

const world = await sharedVoiceWorld()

const UNSCREENED = { phones: PHONES.slice(0, 1), screenCalls: false }

/** Starts a call in which two people talk from now on. */
async function startTalking(company: CallableCompany) {
  const callId = await startIncomingCall(world, company)
  await performCallAction(world, "answer", callId)
  const call = await liveCallOf(world, company, callId)
  expect(call.phase).toBe("talking")
  return { callId, answeredAt: call.answeredAt ?? 0, ref: call.offered.carrierRef }
}

/** The carrier reports the caller's hang-up. */
async function reportHangUp(company: CallableCompany, ref: string, goneAt: number): Promise<void> {
  const leg = { kind: "caller", ref, to: company.number } as const
  const event = { type: "leg_gone", leg, goneAt, answeredAt: null } as const
  await receiveCallEvent(world.ports, event, causedBy("test gone"))
  await world.operate("wait")
}

const minuteChargesOf = async (company: CallableCompany) =>
  (await billedMinutesOf(world, company)).map(({ netMicros, state }) => [netMicros, state])

describe("a spending limit", () => {
  it.each([
    ["0.011999", 0],
    ["0.012", 1],
    ["0.012001", 1],
    ["0.023999", 1],
    ["0.024", 2],
    ["0.024001", 2],
  ])("of %s dollars allows %d minutes", async (dollars, count) => {
    const company = await makeCallableCompany(world, UNSCREENED)
    await setLimit(world, company, { dollars })
    const callId = await startIncomingCall(world, company)
    if (count === 0) {
      expect(await liveCallOf(world, company, callId)).toMatchObject({
        outcome: "missed",
        legs: [],
      })
    } else {
      await performCallAction(world, "answer", callId)
      await advance(world, "5m")
      expect(await liveCallOf(world, company, callId)).toMatchObject({ outcome: "answered" })
    }
    const call = await liveCallOf(world, company, callId)
    expect(call).toMatchObject({ phase: "ended", reason: "funds", refused: count + 1 })
    expect(call.goneAt).not.toBeNull()
    expect(await minuteChargesOf(company)).toEqual(
      Array.from({ length: count }, () => [CALL_MINUTE_MICROS, "final"]),
    )
    expect(await spentMicrosOf(world, company)).toBe(count * CALL_MINUTE_MICROS)
    // The refusal is recorded for auditors.
    const { refusals } = await world.operate("refusals list", { company: company.companyId })
    expect(refusals).toHaveLength(1)
  })
})

describe("a hang-up", () => {
  it.each([
    [59_999, 1],
    [60_000, 1],
    [60_001, 2],
  ])("after %d milliseconds leaves %d charged minutes", async (lastsMs, count) => {
    const company = await makeCallableCompany(world, UNSCREENED)
    const { callId, answeredAt } = await startTalking(company)
    await world.operate("clock set", { to: new Date(answeredAt + lastsMs).toISOString() })
    await performCallAction(world, "hang-up", callId)
    expect(await minuteChargesOf(company)).toEqual(
      Array.from({ length: count }, () => [CALL_MINUTE_MICROS, "final"]),
    )
  })

  it("that is reported late refunds the minute that was charged in the meantime", async () => {
    const company = await makeCallableCompany(world, UNSCREENED)
    const { answeredAt, ref } = await startTalking(company)
    await advance(world, "62s")
    expect(await minuteChargesOf(company)).toEqual([
      [CALL_MINUTE_MICROS, "final"],
      [CALL_MINUTE_MICROS, "open"],
    ])
    await reportHangUp(company, ref, answeredAt + 60_000)
    expect(await minuteChargesOf(company)).toEqual([
      [CALL_MINUTE_MICROS, "final"],
      [0, "given_back"],
    ])
    expect(await listCallsOf(world, company)).toMatchObject([
      { seconds: 60, chargedMicros: CALL_MINUTE_MICROS },
    ])
  })

  it("that is reported very late also refunds settled minutes", async () => {
    const company = await makeCallableCompany(world, UNSCREENED)
    const { answeredAt, ref } = await startTalking(company)
    await advance(world, "190s")
    await reportHangUp(company, ref, answeredAt + 70_000)
    expect(await minuteChargesOf(company)).toEqual([
      [CALL_MINUTE_MICROS, "final"],
      [CALL_MINUTE_MICROS, "final"],
      [0, "given_back"],
      [0, "given_back"],
    ])
    // An earlier time replaces it, and a later one changes nothing.
    await reportHangUp(company, ref, answeredAt + 50_000)
    await reportHangUp(company, ref, answeredAt + 170_000)
    expect(await spentMicrosOf(world, company)).toBe(CALL_MINUTE_MICROS)
    expect(await listCallsOf(world, company)).toMatchObject([
      { seconds: 50, chargedMicros: CALL_MINUTE_MICROS },
    ])
  })
})

describe("minutes that are charged after the call", () => {
  it("are charged once, in order, with the time they were served", async () => {
    const company = await makeCallableCompany(world, UNSCREENED)
    const callId = await runIncomingCall(world, company, "answered", { seconds: "301" })
    const { answeredAt } = await liveCallOf(world, company, callId)
    const bill = await billedMinutesOf(world, company)
    expect(bill.map(({ minute }) => minute)).toEqual([1, 2, 3, 4, 5, 6])
    const served = bill.map(({ servedFrom }) => servedFrom?.getTime() ?? null)
    const late = [2, 3, 4, 5].map((minute) => (answeredAt ?? 0) + (minute - 1) * 60_000)
    expect(served).toEqual([null, ...late, null])
    expect(await listCallsOf(world, company)).toMatchObject([
      { chargedMicros: 6 * CALL_MINUTE_MICROS },
    ])
  })

  it("are written off from the first one that exceeds the funds", async () => {
    const company = await makeCallableCompany(world, UNSCREENED, "0.036")
    await runIncomingCall(world, company, "answered", { seconds: "301" })
    expect(await minuteChargesOf(company)).toEqual(
      Array.from({ length: 3 }, () => [CALL_MINUTE_MICROS, "final"]),
    )
    expect(await listCallsOf(world, company)).toMatchObject([
      { outcome: "answered", seconds: 301, chargedMicros: 3 * CALL_MINUTE_MICROS },
    ])
    expect((await world.operate("audit verify", { company: company.companyId })).ok).toBe(true)
  })
})

describe("the price of a minute", () => {
  it("is that of the country of the accepting phone, and the highest one until the call is accepted", async () => {
    const company = await makeCallableCompany(world, { phones: [PHONES[0], "+442079460958"] })
    await switchCountry(world, company, "GB", true)
    const callId = await startIncomingCall(world, company)
    expect(await minuteChargesOf(company)).toEqual([[60_000, "open"]])
    expect((await liveCallOf(world, company, callId)).legs).toHaveLength(2)
    await performCallAction(world, "answer", callId, { leg: 1 })
    await performCallAction(world, "press", callId, { digits: "1" })
    expect(await minuteChargesOf(company)).toEqual([[CALL_MINUTE_MICROS, "final"]])
    await advance(world, "61s")
    await performCallAction(world, "hang-up", callId)
    expect(await spentMicrosOf(world, company)).toBe(2 * CALL_MINUTE_MICROS)
  })
})
/** More calls than fit on a page, from callers without a number; ten of them are accepted. */
const MANY = 207
const flooded = await makeCallableCompany(world)
for (let i = 0; i < MANY; i += 1) {
  await world.ports.simulatedVoice.simulateCall({
    companyId: flooded.companyId,
    ref: `list-${flooded.number}-${i}`,
    from: "",
    to: flooded.number,
    attestation: null,
    script: null,
  })
}
await world.operate("wait")

const idsOf = (calls: readonly Record<string, unknown>[]) => calls.map(({ id }) => id)

describe("GET /phone/calls", () => {
  it("shows every field of a call", async () => {
    const company = await makeCallableCompany(world, { phones: PHONES, recordCalls: true })
    const callId = await runIncomingCall(world, company, "answered", {
      from: "+12125550100",
      seconds: "75.2",
      recorded: true,
    })
    expect(await listCallsOf(world, company)).toEqual([
      {
        id: callId,
        direction: "in",
        from: "+12125550100",
        to: company.number,
        forwardedTo: PHONES[0],
        status: "completed",
        outcome: "answered",
        seconds: 76,
        recorded: true,
        recordingSeconds: 75,
        voicemailSeconds: null,
        chargedMicros: 24_000,
        createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      },
    ])
  })

  it("pages back from the newest 200 to `since` without losing a call", async () => {
    const company = flooded
    const first = await world.call(company.key, "GET", CALLS_PATH)
    expect(first.body.calls).toHaveLength(200)
    const query = `?cursor=${first.body.nextCursor}`
    const second = await world.call(company.key, "GET", `${CALLS_PATH}${query}`)
    expect([second.body.calls.length, second.body.nextCursor]).toEqual([7, undefined])
    const all = [...second.body.calls, ...first.body.calls]
    const times = all.map(({ createdAt }) => createdAt as string)
    expect(times).toEqual([...new Set(times)].toSorted())
    const since = `?since=${times[3]}`
    expect(idsOf(await listCallsOf(world, company, since))).toEqual(idsOf(all).slice(-200))
    const rest = await world.call(
      company.key,
      "GET",
      `${CALLS_PATH}${since}&cursor=${first.body.nextCursor}`,
    )
    expect(idsOf(rest.body.calls)).toEqual(idsOf(all).slice(4, 7))
  })

  it("is empty at first, shows no other company's calls, and rejects cursors of other lists and companies", async () => {
    const [one, other] = [flooded, await makeCompany(world)]
    expect(await listCallsOf(world, other)).toEqual([])
    const { nextCursor } = (await world.call(one.key, "GET", CALLS_PATH)).body
    const lists = [[other.key, CALLS_PATH] as const, [one.key, "/api/v1/phone/messages"] as const]
    for (const [key, url] of lists) {
      const { status, body } = await world.call(key, "GET", `${url}?cursor=${nextCursor}`)
      expect([status, Object.keys(body.fields)]).toEqual([400, ["cursor"]])
    }
    expect((await world.call(one.key, "GET", `${CALLS_PATH}?since=yesterday`)).status).toBe(400)
  })

  it("hides the numbers of an erased company, and keeps seconds and cost", async () => {
    const company = await makeCallableCompany(world, { phones: PHONES })
    await runIncomingCall(world, company, "answered", { seconds: "61" })
    await world.operate("company delete", { company: company.companyId, yes: true })
    await advance(world, "15d")
    const { calls } = await world.operate("call list", { company: company.companyId })
    expect(calls).toMatchObject([
      { from: null, to: null, forwardedTo: null, seconds: 61, chargedMicros: 24_000 },
    ])
    // No company has the number.
    await expect(startIncomingCall(world, company)).rejects.toThrow(/No company holds/)
  })
})

describe("an operator", () => {
  it("lists a company's calls, newest last, and pages back with `before`", async () => {
    const company = await makeCallableCompany(world)
    const callIds = [
      await runIncomingCall(world, company, "voicemail"),
      await runIncomingCall(world, company, "missed"),
    ]
    const list = (others: object) =>
      world.operate("call list", { company: company.companyId, ...others })
    const { calls, next } = await list({ limit: 1 })
    expect([calls, next]).toMatchObject([[{ callId: callIds[1], outcome: "missed" }], calls[0].at])
    expect(await list({ before: next })).toMatchObject({
      calls: [{ callId: callIds[0] }],
      next: null,
    })
    expect(await list({ since: calls[0].at })).toEqual({ calls: [], next: null })
  })

  it.each([
    [{ outcome: "answered" }, /no phones to ring/],
    [{ outcome: "answered", recorded: true }, /no phones to ring/],
    [{ to: "+13035550100" }, /No company holds/],
    [{ to: "5550100" }, /--to: This number is in local format/],
  ])("gets an explanation for %j", async (input, message) => {
    const company = await makeCallableCompany(world)
    const request = { from: "+12125550100", to: company.number, ...input }
    await expect(world.operate("carrier call-in", request)).rejects.toThrow(message)
  })

  it.each([
    [{ seconds: "5" }],
    [{ outcome: "missed", recorded: true }],
    [{ outcome: "answered", voicemailSeconds: 3 }],
    [{ outcome: "answered", seconds: "14401" }],
    [{ outcome: "answered", seconds: "-1" }],
  ])("cannot request %j", async (input) => {
    const request = { from: "+12125550100", to: "+12015550100", ...input }
    await expect(world.operate("carrier call-in", request)).rejects.toThrow(/seconds|recorded/)
  })

  it("gets an error for an impossible action and for an unknown call", async () => {
    const company = await makeCallableCompany(world, { phones: PHONES.slice(0, 1) })
    const callId = await startIncomingCall(world, company)
    await expect(world.operate("call press", { callId, digits: "1" })).rejects.toThrow(
      /not possible now/,
    )
    await expect(world.operate("call answer", { callId, leg: 4 })).rejects.toThrow(
      /not possible now/,
    )
    await expect(world.operate("call say", { callId: "call_none" })).rejects.toThrow(
      /There is no call/,
    )
    expect(await world.operate("call answer", { callId })).toMatchObject({
      legs: [{ leg: 1, state: "asked" }],
    })
    await world.operate("wait")
    expect(await world.operate("call press", { callId, digits: "9" })).toMatchObject({
      callId,
      legs: [{ leg: 1, state: "gone" }],
      phase: "greeting",
    })
  })
})
