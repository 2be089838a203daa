/** Floods of calls, expensive numbers, carriers that do not answer, and callers without a number. */
import { callSlotsStreamOf } from "../../domain/voice/aggregates.ts"
import { slotHoldersOf } from "../../domain/kernel/slots.ts"
import type { CallId } from "../../domain/kernel/calls.ts"
import { sql } from "kysely"
import { describe, expect, it } from "vitest"
import { causedBy } from "../../src/frame/kernel/envelope.ts"
import { receiveCallEvent } from "../../src/voice/receive-call-event.ts"
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
  ownVoiceWorld,
  runIncomingCall,
  switchCountry,
} from "./voice-world.ts"
import { advance, spentMicrosOf } from "../support/world.ts"

const world = await ownVoiceWorld()

/** The simulated carrier receives a call and notifies us. */
async function simulateIncomingCall(
  { companyId, number }: CallableCompany,
  from: string,
  ref: string,
): Promise<void> {
  await world.ports.simulatedVoice.simulateCall({
    companyId,
    ref,
    from,
    to: number,
    attestation: null,
    script: null,
  })
}

const slotHolders = ({ companyId }: CallableCompany) =>
  world.ports.runner.readLatest(callSlotsStreamOf(companyId), slotHoldersOf)

describe("callers", () => {
  it("have at most ten calls in ten minutes, and further calls cost nothing", async () => {
    const company = await makeCallableCompany(world, { phones: PHONES })
    const from = newCaller()
    for (let i = 0; i < 40; i += 1)
      await simulateIncomingCall(company, from, `flood-${company.number}-${i}`)
    await world.operate("wait")
    const calls = await listCallsOf(world, company)
    const rejected = calls.filter(({ status }) => status === "completed")
    expect([calls.length, rejected.length]).toEqual([40, 30])
    expect(new Set(rejected.map(({ outcome }) => outcome))).toEqual(new Set(["missed"]))
    expect(await billedMinutesOf(world, company)).toHaveLength(10)
    // The ten calls are greeted, ended and paid, and their slots are free again.
    await advance(world, "11m")
    expect(await slotHolders(company)).toEqual([])
    const again = await startIncomingCall(world, company, from)
    expect(await liveCallOf(world, company, again)).toMatchObject({ phase: "ringing" })
  })

  it("of a company have at most twenty concurrent calls; another one is accepted after one ends", async () => {
    const company = await makeCallableCompany(world, { phones: PHONES.slice(0, 1) })
    const callIds: CallId[] = []
    for (let i = 0; i < 20; i += 1) callIds.push(await startIncomingCall(world, company))
    const refused = await startIncomingCall(world, company)
    expect(await liveCallOf(world, company, refused)).toMatchObject({
      reason: "company_call_limit",
      legs: [],
    })
    await performCallAction(world, "hang-up", callIds[0] as CallId)
    const next = await startIncomingCall(world, company)
    expect(await liveCallOf(world, company, next)).toMatchObject({ phase: "ringing" })
    expect(await slotHolders(company)).toHaveLength(20)
    // Otherwise each call would end as a voicemail when a later test moves the clock.
    for (const callId of [...callIds.slice(1), next])
      await performCallAction(world, "hang-up", callId)
  })

  it.each(["", "anonymous", "Unknown Caller", "12345678901234567890", "+1 (café)", "+1900"])(
    "with the number %j are accepted and shown without a number",
    async (from) => {
      const company = await makeCallableCompany(world)
      await simulateIncomingCall(company, from, `shown-${company.number}`)
      await world.operate("wait")
      const [call] = await listCallsOf(world, company)
      expect(call).toMatchObject({ from: null, to: company.number })
    },
  )

  it("without a number count as one caller, whatever they send", async () => {
    const company = await makeCallableCompany(world)
    for (let i = 0; i < 11; i += 1)
      await simulateIncomingCall(company, `x${i}`, `none-${company.number}-${i}`)
    await world.operate("wait")
    expect(await billedMinutesOf(world, company)).toHaveLength(10)
  })

  it("whose hang-up arrives before the call are missed, and no phone rings", async () => {
    const company = await makeCallableCompany(world, { phones: PHONES })
    const ref = `early-${company.number}`
    const leg = { kind: "caller", ref, to: company.number } as const
    const goneAt = world.ports.clock.now()
    const hangUp = { type: "leg_gone", leg, goneAt, answeredAt: null } as const
    await receiveCallEvent(world.ports, hangUp, causedBy("test early"))
    await simulateIncomingCall(company, newCaller(), ref)
    await world.operate("wait")
    expect(await listCallsOf(world, company)).toMatchObject([{ outcome: "missed", seconds: 0 }])
    expect([await billedMinutesOf(world, company), await slotHolders(company)]).toEqual([[], []])
  })

  it("cannot call a released number, but a call that has begun continues", async () => {
    const company = await makeCallableCompany(world, {
      phones: PHONES.slice(0, 1),
      screenCalls: false,
    })
    const callId = await startIncomingCall(world, company)
    await performCallAction(world, "answer", callId)
    const numbers = await world.call(company.key, "GET", "/api/v1/phone/settings")
    const body = { id: numbers.body.numbers[0].id }
    const released = await world.call(company.key, "POST", "/api/v1/phone/release", { body })
    expect(released.status).toBe(200)
    await world.operate("wait")
    await expect(startIncomingCall(world, company)).rejects.toThrow(/No company holds/)
    expect(await liveCallOf(world, company, callId)).toMatchObject({ phase: "talking" })
    await performCallAction(world, "hang-up", callId)
    expect(await liveCallOf(world, company, callId)).toMatchObject({ outcome: "answered" })
  })

  it("call once if the notification is repeated, and a call to an unknown number is only counted", async () => {
    const company = await makeCallableCompany(world)
    const from = newCaller()
    for (let i = 0; i < 3; i += 1)
      await simulateIncomingCall(company, from, `twice-${company.number}`)
    await world.operate("wait")
    expect(await listCallsOf(world, company)).toHaveLength(1)
    const event = { ref: "unknown", from, to: "+12015559999", startedAt: 1, attestation: null }
    const result = await receiveCallEvent(
      world.ports,
      { type: "call_came", ...event },
      causedBy("test"),
    )
    expect(result).toBeNull()
    const { body } = await world.call(null, "GET", "/metrics")
    for (const line of [
      "ledger_phone_calls_to_unknown_numbers_total 1",
      'ledger_phone_calls{status="in_progress"}',
    ]) {
      expect(body).toContain(line)
    }
  })
})

describe("a phone to ring", () => {
  it.each([
    ["a premium number", "+19005550123"],
    ["an island with the prefix +1", "+18765550123"],
    ["a satellite phone", "+881612345678"],
    ["in a country that is off", "+442079460958"],
    ["not a number", "4155550101"],
  ])("is skipped if it is %s, and the caller is greeted", async (_title, phone) => {
    const company = await makeCallableCompany(world, { phones: [phone] })
    const callId = await startIncomingCall(world, company)
    const call = await liveCallOf(world, company, callId)
    expect(call).toMatchObject({ phase: "greeting", legs: [{ goneAt: expect.any(Number) }] })
    expect(call.legs[0]?.ref).toBeNull()
  })

  it("is skipped if it is a number of this installation, of the company or of another one", async () => {
    const other = await makeCallableCompany(world)
    const company = await makeCallableCompany(world, { phones: [other.number, PHONES[0]] })
    const callId = await startIncomingCall(world, company)
    const { legs, phase } = await liveCallOf(world, company, callId)
    expect([phase, legs.map(({ ref }) => ref !== null)]).toEqual(["ringing", [false, true]])
  })

  it("is checked when it is dialed, because its country may have been switched off", async () => {
    const company = await makeCallableCompany(world, { phones: ["+442079460958"] })
    await switchCountry(world, company, "GB", true)
    const first = await startIncomingCall(world, company)
    expect(await liveCallOf(world, company, first)).toMatchObject({ phase: "ringing" })
    await switchCountry(world, company, "GB", false)
    const second = await startIncomingCall(world, company)
    expect(await liveCallOf(world, company, second)).toMatchObject({ phase: "greeting" })
  })
})

describe("a voicemail", () => {
  it("is limited to three minutes", async () => {
    const company = await makeCallableCompany(world)
    const callId = await startIncomingCall(world, company)
    await performCallAction(world, "say", callId)
    await advance(world, "1h")
    const call = await liveCallOf(world, company, callId)
    expect(call).toMatchObject({ outcome: "voicemail", reason: "deadline" })
    expect(await listCallsOf(world, company)).toMatchObject([
      { seconds: 180, voicemailSeconds: 180, chargedMicros: 3 * CALL_MINUTE_MICROS },
    ])
  })
})

describe("a carrier that does not answer", () => {
  it.each(["unavailable", "silent", "gone"])(
    "for a moment (%s) does not lose the call",
    async (outcome) => {
      const company = await makeCallableCompany(world, {
        phones: PHONES.slice(0, 1),
        screenCalls: false,
      })
      await world.operate("simulator set", { name: "voice", outcome, times: 1 })
      const callId = await runIncomingCall(world, company, "answered", { seconds: "30" })
      await advance(world, "15m")
      const call = await liveCallOf(world, company, callId)
      expect([call.phase, call.goneAt !== null]).toEqual(["ended", true])
      const states = new Set((await billedMinutesOf(world, company)).map(({ state }) => state))
      expect(states.has("open")).toBe(false)
      const { jobs } = await world.operate("job list")
      expect(jobs.filter(({ stuck }: { stuck: unknown }) => stuck !== null)).toEqual([])
    },
  )

  it("during an unanswered call makes no voicemail: the call is missed and costs nothing", async () => {
    const company = await makeCallableCompany(world, { phones: PHONES.slice(0, 1) })
    const callId = await startIncomingCall(world, company)
    await world.operate("simulator set", { name: "voice", outcome: "unavailable" })
    await advance(world, "10m")
    await world.operate("simulator set", { name: "voice", outcome: "ok" })
    await advance(world, "15m")
    expect(await liveCallOf(world, company, callId)).toMatchObject({ phase: "ended" })
    expect(await listCallsOf(world, company)).toMatchObject([
      { outcome: "missed", seconds: 0, voicemailSeconds: null, chargedMicros: 0 },
    ])
  })
})

describe("a carrier that does not report the end of a call", () => {
  it("is asked for the status, and the call ends at the time it reports", async () => {
    const company = await makeCallableCompany(world, {
      phones: PHONES.slice(0, 1),
      screenCalls: false,
    })
    const callId = await startIncomingCall(world, company)
    await performCallAction(world, "answer", callId)
    const call = await liveCallOf(world, company, callId)
    // The caller hangs up without a notification.
    expect(await hangUpSilently(call.offered.carrierRef)).toBe(1)
    await advance(world, "90s")
    expect(await liveCallOf(world, company, callId)).toMatchObject({ outcome: "answered" })
    expect(await spentMicrosOf(world, company)).toBe(CALL_MINUTE_MICROS)
  })

  it("and has lost the call ends it at the time it last reported it as active", async () => {
    const company = await makeCallableCompany(world, {
      phones: PHONES.slice(0, 1),
      screenCalls: false,
    })
    const callId = await startIncomingCall(world, company)
    await performCallAction(world, "answer", callId)
    await advance(world, "125s")
    const { offered } = await liveCallOf(world, company, callId)
    await sql`delete from ledger.simulated_records where name = ${offered.carrierRef}`.execute(
      world.ports.readAll,
    )
    await advance(world, "2h")
    expect(await listCallsOf(world, company)).toMatchObject([
      { outcome: "answered", seconds: 121, chargedMicros: 3 * CALL_MINUTE_MICROS },
    ])
  })
})

describe("a carrier that sends each notification fifty times concurrently", () => {
  it("causes one call, one charge and one end", async () => {
    const company = await makeCallableCompany(world, { phones: PHONES.slice(0, 1) })
    const ref = `fifty-${company.number}`
    const leg = { kind: "caller", ref, to: company.number } as const
    await Promise.all(
      Array.from({ length: 50 }, () => simulateIncomingCall(company, newCaller(), ref)),
    )
    await world.operate("wait")
    const [call, ...others] = await listCallsOf(world, company)
    expect([call?.["status"], others]).toEqual(["ringing", []])
    const goneAt = world.ports.clock.now()
    const hangUp = { type: "leg_gone", leg, goneAt, answeredAt: null } as const
    const notify = () => receiveCallEvent(world.ports, hangUp, causedBy("test gone"))
    await Promise.all(Array.from({ length: 50 }, notify))
    await world.operate("wait")
    expect(await billedMinutesOf(world, company)).toMatchObject([
      { netMicros: 0, state: "given_back" },
    ])
    expect(await slotHolders(company)).toEqual([])
  })
})

/** Ends a leg at the simulated carrier half a minute from now, without a notification. */
async function hangUpSilently(ref: string): Promise<number> {
  const endedAt = world.ports.clock.now() + 30_000
  const { numAffectedRows } = await sql`
    update ledger.simulated_records
    set content = content || jsonb_build_object('state', 'gone', 'endedAt', ${endedAt}::bigint)
    where name = ${ref}`.execute(world.ports.readAll)
  return Number(numAffectedRows)
}

describe("a deleted company", () => {
  it("loses its calls at the end of the minute, and gets no new ones", async () => {
    const company = await makeCallableCompany(world, {
      phones: PHONES.slice(0, 1),
      screenCalls: false,
    })
    const callId = await startIncomingCall(world, company)
    await performCallAction(world, "answer", callId)
    await world.operate("company delete", { company: company.companyId, yes: true })
    const refused = await startIncomingCall(world, company)
    expect(await liveCallOf(world, company, refused)).toMatchObject({ reason: "closed" })
    await advance(world, "70s")
    expect(await liveCallOf(world, company, callId)).toMatchObject({
      outcome: "answered",
      reason: "funds",
    })
    expect(await billedMinutesOf(world, company)).toMatchObject([
      { netMicros: CALL_MINUTE_MICROS, state: "final" },
    ])
  })
})
