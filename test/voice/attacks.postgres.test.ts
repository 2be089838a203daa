/** Callers who flood, numbers that cost, carriers that do not answer, and callers who show nothing. */
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

/** The carrier has a call, and tells of it as quickly as it can. */
async function came(
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

const takenBy = ({ companyId }: CallableCompany) =>
  world.ports.runner.readLatest(callSlotsStreamOf(companyId), slotHoldersOf)

describe("callers", () => {
  it("who call 40 times have ten calls in ten minutes, and the others cost nothing", async () => {
    const company = await makeCallableCompany(world, { phones: PHONES })
    const from = newCaller()
    for (let i = 0; i < 40; i += 1) await came(company, from, `flood-${company.number}-${i}`)
    await world.operate("wait")
    const calls = await listCallsOf(world, company)
    const rejected = calls.filter(({ status }) => status === "completed")
    expect([calls.length, rejected.length]).toEqual([40, 30])
    expect(new Set(rejected.map(({ outcome }) => outcome))).toEqual(new Set(["missed"]))
    expect(await billedMinutesOf(world, company)).toHaveLength(10)
    // Nobody stays on them: they are greeted, ended and paid, and their slots are free.
    await advance(world, "11m")
    expect(await takenBy(company)).toEqual([])
    const again = await startIncomingCall(world, company, from)
    expect(await liveCallOf(world, company, again)).toMatchObject({ phase: "ringing" })
  })

  it("are twenty at once, and the next one is taken where one ends", async () => {
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
    expect(await takenBy(company)).toHaveLength(20)
    // Calls that wait would cost the next tests, which move the clock, a voicemail each.
    for (const callId of [...callIds.slice(1), next])
      await performCallAction(world, "hang-up", callId)
  })

  it.each(["", "anonymous", "Unknown Caller", "12345678901234567890", "+1 (café)", "+1900"])(
    "who show %j are taken, and show no number",
    async (from) => {
      const company = await makeCallableCompany(world)
      await came(company, from, `shown-${company.number}`)
      await world.operate("wait")
      const [call] = await listCallsOf(world, company)
      expect(call).toMatchObject({ from: null, to: company.number })
    },
  )

  it("who show no number are one caller, however they do so", async () => {
    const company = await makeCallableCompany(world)
    for (let i = 0; i < 11; i += 1) await came(company, `x${i}`, `none-${company.number}-${i}`)
    await world.operate("wait")
    expect(await billedMinutesOf(world, company)).toHaveLength(10)
  })

  it("who went before the carrier said that they called are missed, and nobody rings", async () => {
    const company = await makeCallableCompany(world, { phones: PHONES })
    const ref = `early-${company.number}`
    const leg = { kind: "caller", ref, to: company.number } as const
    const goneAt = world.ports.clock.now()
    const gone = { type: "leg_gone", leg, goneAt, answeredAt: null } as const
    await receiveCallEvent(world.ports, gone, causedBy("test early"))
    await came(company, newCaller(), ref)
    await world.operate("wait")
    expect(await listCallsOf(world, company)).toMatchObject([{ outcome: "missed", seconds: 0 }])
    expect([await billedMinutesOf(world, company), await takenBy(company)]).toEqual([[], []])
  })

  it("reach nobody by a number that was released, and who talks by it goes on talking", async () => {
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

  it("whose call is told twice call once, and one to nobody's number is nobody's", async () => {
    const company = await makeCallableCompany(world)
    const from = newCaller()
    for (let i = 0; i < 3; i += 1) await came(company, from, `twice-${company.number}`)
    await world.operate("wait")
    expect(await listCallsOf(world, company)).toHaveLength(1)
    const event = { ref: "nobody", from, to: "+12015559999", startedAt: 1, attestation: null }
    const none = await receiveCallEvent(
      world.ports,
      { type: "call_came", ...event },
      causedBy("test"),
    )
    expect(none).toBeNull()
    const { body } = await world.call(null, "GET", "/metrics")
    for (const line of [
      "ledger_phone_calls_to_unknown_numbers_total 1",
      'ledger_phone_calls{status="in_progress"}',
    ]) {
      expect(body).toContain(line)
    }
  })
})

describe("who is to be called", () => {
  it.each([
    ["a premium number", "+19005550123"],
    ["an island under +1", "+18765550123"],
    ["a satellite", "+881612345678"],
    ["a country that is off", "+442079460958"],
    ["no number", "4155550101"],
  ])("is not where it is %s: the caller is greeted", async (_what, phone) => {
    const company = await makeCallableCompany(world, { phones: [phone] })
    const callId = await startIncomingCall(world, company)
    const call = await liveCallOf(world, company, callId)
    expect(call).toMatchObject({ phase: "greeting", legs: [{ goneAt: expect.any(Number) }] })
    expect(call.legs[0]?.ref).toBeNull()
  })

  it("is not where it is a number of this installation, the company's own or another's", async () => {
    const other = await makeCallableCompany(world)
    const company = await makeCallableCompany(world, { phones: [other.number, PHONES[0]] })
    const callId = await startIncomingCall(world, company)
    const { legs, phase } = await liveCallOf(world, company, callId)
    expect([phase, legs.map(({ ref }) => ref !== null)]).toEqual(["ringing", [false, true]])
  })

  it("is looked at when it is dialled: the country may have been switched off since", async () => {
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
  it("that somebody fills for an hour has three minutes", async () => {
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
    "at once (%s) loses no call for good",
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
      const { jobs: work } = await world.operate("job list")
      expect(work.filter(({ stuck }: { stuck: unknown }) => stuck !== null)).toEqual([])
    },
  )

  it("while nobody answers makes no voicemail: the call is missed, and costs nothing", async () => {
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

  it("says nothing of the end: it is asked, and the call ends when it says", async () => {
    const company = await makeCallableCompany(world, {
      phones: PHONES.slice(0, 1),
      screenCalls: false,
    })
    const callId = await startIncomingCall(world, company)
    await performCallAction(world, "answer", callId)
    const call = await liveCallOf(world, company, callId)
    // The caller goes, and nobody is told: only the carrier knows.
    expect(await lostHangUp(call.offered.carrierRef)).toBe(1)
    await advance(world, "90s")
    expect(await liveCallOf(world, company, callId)).toMatchObject({ outcome: "answered" })
    expect(await spentMicrosOf(world, company)).toBe(CALL_MINUTE_MICROS)
  })

  it("forgets a call: it lasted until it was last said to be there, and not until it is asked", async () => {
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

describe("a carrier that says everything fifty times at once", () => {
  it("has one call, one charge and one end", async () => {
    const company = await makeCallableCompany(world, { phones: PHONES.slice(0, 1) })
    const ref = `fifty-${company.number}`
    const leg = { kind: "caller", ref, to: company.number } as const
    await Promise.all(Array.from({ length: 50 }, () => came(company, newCaller(), ref)))
    await world.operate("wait")
    const [call, ...others] = await listCallsOf(world, company)
    expect([call?.["status"], others]).toEqual(["ringing", []])
    const goneAt = world.ports.clock.now()
    const gone = { type: "leg_gone", leg, goneAt, answeredAt: null } as const
    const tell = () => receiveCallEvent(world.ports, gone, causedBy("test gone"))
    await Promise.all(Array.from({ length: 50 }, tell))
    await world.operate("wait")
    expect(await billedMinutesOf(world, company)).toMatchObject([{ kept: 0, state: "given_back" }])
    expect(await takenBy(company)).toEqual([])
  })
})

/** Has the built-in carrier know that a leg is gone half a minute from now, without its saying so. */
async function lostHangUp(ref: string): Promise<number> {
  const endedAt = world.ports.clock.now() + 30_000
  const { numAffectedRows } = await sql`
    update ledger.simulated_records
    set content = content || jsonb_build_object('state', 'gone', 'endedAt', ${endedAt}::bigint)
    where name = ${ref}`.execute(world.ports.readAll)
  return Number(numAffectedRows)
}

describe("a company that was deleted", () => {
  it("has its calls end with the next minute, and takes no new one", async () => {
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
      { kept: CALL_MINUTE_MICROS, state: "final" },
    ])
  })
})
