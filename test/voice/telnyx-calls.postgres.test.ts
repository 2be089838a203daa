/** Calls by notifications from Telnyx: in order, out of order, repeated, forged, and for other installations. */
import { afterAll, beforeEach, describe, expect, it, vi } from "vitest"
import {
  openTelnyxCallServer,
  type TelnyxCallEvent,
  type TelnyxLeg,
} from "../support/telnyx-call-server.ts"
import { signingAccount } from "../support/telnyx-signing.ts"
import { advance, spentMicrosOf } from "../support/world.ts"
import type { CallableCompany } from "./voice-world.ts"
import {
  ownVoiceWorld,
  CALL_MINUTE_MICROS,
  PHONES,
  liveCallOf,
  listCallsOf,
  makeCallableCompany,
  newCaller,
  openVoiceWorld,
} from "./voice-world.ts"
import type { ListedJob } from "../../adapters/postgres/jobs/port.ts"
import { phoneStreamOf } from "../../domain/phone/aggregates.ts"
import { causedBy } from "../../src/frame/kernel/envelope.ts"
import { callIdOf } from "../../src/voice/receive-call-event.ts"
import {
  listRecordingsOf as listedRecordings,
  fetchRecording,
} from "../recordings/recording-world.ts"
import { Unavailable } from "../../adapters/eventstore/port.ts"

/** Path of Telnyx's notifications. */
const NOTIFICATION_PATH = "/carriers/telnyx/calls"

/** Opens an installation with a Telnyx server, and closes it after the test file. */
async function openTelnyxWorld() {
  const account = signingAccount()
  /** Notifications that have not been sent yet, in order. */
  const waiting: TelnyxCallEvent[] = []
  const telnyx = await openTelnyxCallServer(
    (event) => void waiting.push(event),
    () => world.ports.clock.now(),
  )
  afterAll(() => telnyx.close())
  const world = await ownVoiceWorld({
    settings: {
      TELNYX_KEY: "KEY0123456789",
      TELNYX_PUBLIC_KEY: account.publicKey,
      TELNYX_URL: telnyx.url,
      TELNYX_CONNECTION: "1684641123236054244",
    },
  })
  /** Sends a notification, by default signed now, and returns the status of the answer. */
  const send = async (
    { raw }: Pick<TelnyxCallEvent, "raw">,
    signed: Record<string, string> = account.headersOf(raw, world.ports.clock.now()),
  ) => {
    const sent = { method: "POST", url: NOTIFICATION_PATH, headers: signed, payload: raw } as const
    return (await world.app.inject(sent)).statusCode
  }
  /** Sends all notifications and runs all jobs until none is left. */
  const settle = async () => {
    for (;;) {
      const next = waiting.shift()
      if (next !== undefined) {
        const status = await send(next)
        if (status !== 200) throw new Error(`${next.type} was answered ${status}`)
        continue
      }
      await world.operate("wait")
      if (waiting.length === 0) return
    }
  }
  return {
    world,
    telnyx,
    account,
    waiting,
    send,
    settle,
    /** The outgoing legs, including ended ones. */
    phones: () => telnyx.legs.filter(({ direction }) => direction === "outgoing"),
  }
}

const { world, telnyx, account, waiting, send, settle, phones } = await openTelnyxWorld()

/** Starts an incoming call, so that phones ring. */
async function startCall(company: CallableCompany): Promise<TelnyxLeg> {
  const caller = telnyx.callIn(newCaller(), company.number)
  await settle()
  return caller
}

const phonesOf = (company: CallableCompany) =>
  phones().filter(({ from, state }) => from === company.number && state !== "gone")

const call = ({ companyId }: CallableCompany, { ref }: TelnyxLeg) =>
  liveCallOf(world, { companyId }, callIdOf(ref))

async function perform(
  leg: TelnyxLeg | undefined,
  action: "answer" | "hang_up" | "hear" | "1" | "2",
) {
  const telnyxAction = action === "1" || action === "2" ? { press: action } : action
  expect(leg !== undefined && telnyx.performAction(leg, telnyxAction)).toBe(true)
  await settle()
}

describe("a call by Telnyx", () => {
  it("is screened, announced, recorded, charged by Telnyx's times, and can be played", async () => {
    const company = await makeCallableCompany(world, { phones: PHONES, recordCalls: true })
    const caller = await startCall(company)
    const rings = phonesOf(company)
    expect(rings.map(({ to }) => to)).toEqual(PHONES)
    expect((await call(company, caller)).offered.attestation).toBe("A")
    await perform(rings[1], "answer")
    await perform(rings[1], "1")
    expect(rings.map(({ state }) => state)).toEqual(["gone", "open", "gone"])
    expect(caller.state).toBe("open")
    await perform(caller, "hear")
    await perform(rings[1], "hear")
    expect(caller.bridgedTo).toBe(rings[1])
    await advance(world, "70s")
    await perform(caller, "hang_up")
    expect(await listCallsOf(world, company)).toMatchObject([
      {
        status: "completed",
        outcome: "answered",
        seconds: 70,
        recorded: true,
        forwardedTo: PHONES[1],
        recordingSeconds: 70,
        chargedMicros: 2 * CALL_MINUTE_MICROS,
      },
    ])
    expect(await spentMicrosOf(world, company)).toBe(2 * CALL_MINUTE_MICROS)
    expect(rings[1]?.state).toBe("gone")
    const [recording] = await listedRecordings(world, company)
    expect(recording).toMatchObject({ recording: { seconds: 70 } })
    const { bytes } = await fetchRecording(world, company, callIdOf(caller.ref))
    expect(bytes.length).toBeGreaterThan(200_000)
    expect(telnyx.recordings).toEqual([])
  })

  it("that is not accepted is greeted and leaves a voicemail", async () => {
    const company = await makeCallableCompany(world, { phones: PHONES.slice(0, 1) })
    const caller = await startCall(company)
    await perform(phonesOf(company)[0], "answer")
    await perform(phonesOf(company)[0], "2")
    expect(phonesOf(company)).toEqual([])
    await perform(caller, "hear")
    expect(telnyx.commands.at(-1)?.body).toMatchObject({ play_beep: true, max_length: 180 })
    await advance(world, "12s")
    await perform(caller, "hang_up")
    const [shown] = await listCallsOf(world, company)
    expect(shown).toMatchObject({ outcome: "voicemail", voicemailSeconds: 12, seconds: 12 })
    expect(await spentMicrosOf(world, company)).toBe(CALL_MINUTE_MICROS)
  })

  it("is the same if its notifications arrive twice and in reverse order", async () => {
    const company = await makeCallableCompany(world, {
      phones: PHONES.slice(0, 1),
      screenCalls: false,
    })
    const caller = await startCall(company)
    const [phone] = phonesOf(company)
    telnyx.performAction(phone as TelnyxLeg, "answer")
    await settle()
    await advance(world, "61s")
    telnyx.performAction(caller, "hang_up")
    const late = waiting.splice(0).toReversed()
    for (const event of [...late, ...late]) expect(await send(event)).toBe(200)
    await settle()
    const [shown] = await listCallsOf(world, company)
    expect(shown).toMatchObject({
      outcome: "answered",
      seconds: 61,
      chargedMicros: 2 * CALL_MINUTE_MICROS,
    })
    expect(await spentMicrosOf(world, company)).toBe(2 * CALL_MINUTE_MICROS)
  })

  it("whose hang-up arrives first is missed, rings no phone and costs nothing", async () => {
    const company = await makeCallableCompany(world, { phones: PHONES })
    const caller = telnyx.callIn(newCaller(), company.number)
    telnyx.performAction(caller, "hang_up")
    for (const event of waiting.splice(0).toReversed()) expect(await send(event)).toBe(200)
    await settle()
    expect(await listCallsOf(world, company)).toMatchObject([
      { outcome: "missed", chargedMicros: 0 },
    ])
    expect(phonesOf(company)).toEqual([])
    expect(await spentMicrosOf(world, company)).toBe(0)
  })

  it("identifies a leg by its first notification if the answer to its dial was lost", async () => {
    const company = await makeCallableCompany(world, {
      phones: PHONES.slice(0, 1),
      screenCalls: false,
    })
    const caller = telnyx.callIn(newCaller(), company.number)
    telnyx.failNext("silent")
    await send(waiting.shift() ?? { raw: "" })
    await world.operate("wait")
    const [phone, ...others] = phonesOf(company)
    expect(others).toEqual([])
    await settle()
    expect((await call(company, caller)).legs).toMatchObject([{ leg: 1, ref: phone?.ref }])
    // The retry of the dial runs by the machine's clock. Wait for it, because a later test counts requests.
    await expect
      .poll(async () => {
        const { jobs } = await world.operate("job list")
        return (jobs as ListedJob[]).filter(({ retryAt }) => retryAt !== null)
      })
      .toEqual([])
    await perform(caller, "hang_up")
    expect(phones().filter(({ from }) => from === company.number)).toEqual([phone])
    expect(phone?.state).toBe("gone")
  })

  it("is checked if notifications stop, and costs no minute after the hang-up", async () => {
    const company = await makeCallableCompany(world, {
      phones: PHONES.slice(0, 1),
      screenCalls: false,
    })
    const caller = await startCall(company)
    await perform(phonesOf(company)[0], "answer")
    await advance(world, "20s")
    telnyx.performAction(caller, "hang_up")
    waiting.length = 0
    await advance(world, "90s")
    await settle()
    expect(await listCallsOf(world, company)).toMatchObject([{ outcome: "answered", seconds: 20 }])
    expect(await spentMicrosOf(world, company)).toBe(CALL_MINUTE_MICROS)
  })
})

describe("a test number on an installation with Telnyx", () => {
  it("can be called by an operator without any request to Telnyx", async () => {
    const company = await makeCallableCompany(world, { phones: PHONES.slice(0, 1) })
    const before = telnyx.commands.length
    const input = { from: newCaller(), to: company.number, outcome: "answered", seconds: "30" }
    await world.operate("carrier call-in", input)
    await world.operate("wait")
    expect(await listCallsOf(world, company)).toMatchObject([{ outcome: "answered", seconds: 30 }])
    expect(telnyx.commands.length).toBe(before)
  })

  it("can be answered by an operator only for simulated calls", async () => {
    const company = await makeCallableCompany(world, { phones: PHONES.slice(0, 1) })
    const caller = await startCall(company)
    const answering = world.operate("call answer", { callId: callIdOf(caller.ref) })
    await expect(answering).rejects.toThrow("A real carrier has this call")
  })

  it("can be called by an operator, but a real number cannot", async () => {
    const company = await makeCallableCompany(world)
    const { runner, sealing } = world.ports
    const { companyId } = company
    const number = "+12125550777"
    const held = {
      type: "AddNumber" as const,
      numberId: "num_real" as const,
      kind: "local" as const,
      locality: null,
      region: null,
      sms: true,
      mms: false,
      voice: true,
      monthlyMicros: 0,
      paidThrough: null,
      test: false,
      number: await sealing.seal(companyId, "company", number),
      numberTag: await sealing.tag(companyId, number),
    } as const
    await runner.execute(phoneStreamOf(companyId), held, causedBy("test number"))
    const calling = world.operate("carrier call-in", { from: newCaller(), to: number })
    await expect(calling).rejects.toThrow("A real carrier serves this number")
  })
})
let company: CallableCompany
beforeEach(async () => {
  waiting.length = 0
  company = await makeCallableCompany(world, { phones: PHONES.slice(0, 1) })
})

const head = async () => (await world.ports.store.head()).commit

/** Starts a call at Telnyx, and returns its first notification without sending it. */
function incomingCall(to = company.number): string {
  telnyx.callIn(newCaller(), to)
  return waiting.pop()?.raw ?? ""
}

/** Expects that notifications record nothing, and returns the statuses of the answers. */
async function expectNothingRecorded(
  sendAll: () => Promise<readonly number[]>,
): Promise<readonly number[]> {
  await world.operate("wait")
  const before = await head()
  const statuses = await sendAll()
  await world.operate("wait")
  expect(await head()).toBe(before)
  return statuses
}

const now = () => world.ports.clock.now()

describe("a notification without a valid signature", () => {
  const forged: readonly (readonly [string, (raw: string) => Record<string, string>])[] = [
    ["none", () => ({ "content-type": "application/json" })],
    ["one of another body", (raw) => account.headersOf(`${raw} `, now())],
    ["another account's", (raw) => signingAccount().headersOf(raw, now())],
    ["one that is 301 seconds old", (raw) => account.headersOf(raw, now() - 301_000)],
    ["one from 301 seconds in the future", (raw) => account.headersOf(raw, now() + 301_000)],
  ]
  it.each(forged)("records nothing: %s", async (_title, headersOf) => {
    const raw = incomingCall()
    const statuses = await expectNothingRecorded(async () => [await send({ raw }, headersOf(raw))])
    expect(statuses).toEqual([401])
  })

  it("records nothing and is not logged if one byte was changed", async () => {
    const raw = incomingCall()
    const headers = account.headersOf(raw, now())
    const info = vi.spyOn(world.ports.log, "info")
    const changed = { raw: raw.replace('"incoming"', '"incominh"') }
    expect(await expectNothingRecorded(async () => [await send(changed, headers)])).toEqual([401])
    const logged = JSON.stringify([info.mock.calls, world.warnings])
    expect(logged).not.toContain(company.number)
    info.mockRestore()
  })

  it("is not read if it is larger than 2 MiB", async () => {
    const raw = JSON.stringify({ data: "x".repeat(2 * 1024 * 1024) })
    const statuses = await expectNothingRecorded(async () => [await send({ raw })])
    expect(statuses).toEqual([413])
  })
})

describe("a signed notification", () => {
  it("starts one call, even if it is repeated concurrently and later", async () => {
    const raw = incomingCall()
    const statuses = await Promise.all(Array.from({ length: 50 }, () => send({ raw })))
    expect(statuses).toContain(200)
    expect(statuses.every((status) => status === 200 || status === 503)).toBe(true)
    await settle()
    expect(await listCallsOf(world, company)).toHaveLength(1)
    await expectNothingRecorded(async () => [await send({ raw })])
    await advance(world, "192h")
    expect(await expectNothingRecorded(async () => [await send({ raw })])).toEqual([200])
  })

  it("of a call to an unknown number is counted, and the call is rejected", async () => {
    const raw = incomingCall("+12015550199")
    const before = telnyx.commands.length
    expect(await expectNothingRecorded(async () => [await send({ raw })])).toEqual([200])
    expect(telnyx.commands.slice(before)).toMatchObject([{ body: { cause: "CALL_REJECTED" } }])
    const { payload } = await world.app.inject({ method: "GET", url: "/metrics" })
    expect(payload).toMatch(/ledger_webhook_events_total.*telnyxCalls.*result="unowned".* 1/)
  })

  it("of a call belongs to the company of the called number, even if its client state names another", async () => {
    const other = await makeCallableCompany(world, { phones: PHONES.slice(1, 2) })
    const { data } = JSON.parse(incomingCall(other.number))
    const mark = `${company.companyId}:call_x:0:`
    data.payload.client_state = Buffer.from(mark).toString("base64")
    expect(await send({ raw: JSON.stringify({ data }) })).toBe(200)
    await settle()
    expect(await listCallsOf(world, company)).toEqual([])
    expect(await listCallsOf(world, other)).toHaveLength(1)
  })

  it("of a leg that another installation dialed is ignored", async () => {
    const { data } = JSON.parse(incomingCall())
    for (const type of ["call.answered", "call.hangup", "call.speak.ended", "call.initiated"]) {
      const state = Buffer.from(`${company.companyId}:call_elsewhere:0:say`).toString("base64")
      const payload = { ...data.payload, client_state: state, direction: "outgoing" }
      const raw = JSON.stringify({ data: { ...data, id: type, event_type: type, payload } })
      expect(await expectNothingRecorded(async () => [await send({ raw })])).toEqual([200])
    }
  })

  it.each([
    ["not JSON", "{"],
    ["not an event", "[]"],
    ["without a time", '{"data":{"id":"1","event_type":"call.hangup","payload":{}}}'],
    ["of an unused type", '{"data":{"id":"1","event_type":"call.playback.started"}}'],
  ])("that is %s is accepted and ignored", async (_title, raw) => {
    expect(await expectNothingRecorded(async () => [await send({ raw })])).toEqual([200])
  })

  it("with a duplicated key is read by the last one", async () => {
    const raw = incomingCall()
    const doubled = raw.replace('"event_type":', '"event_type":"call.hangup","event_type":')
    expect(await send({ raw: doubled })).toBe(200)
    await settle()
    expect(await listCallsOf(world, company)).toMatchObject([{ status: "ringing" }])
  })

  it("that cannot be stored is answered with 503, and accepted when it is sent again", async () => {
    const raw = incomingCall()
    const failing = vi.spyOn(world.ports.store, "append")
    failing.mockRejectedValue(new Unavailable("the store is away"))
    expect(await send({ raw })).toBe(503)
    failing.mockRestore()
    expect(await send({ raw })).toBe(200)
    await settle()
    expect(await listCallsOf(world, company)).toHaveLength(1)
  })
})

it("an installation without Telnyx rejects its notifications", async () => {
  const without = await openVoiceWorld()
  const raw = incomingCall()
  const headers = account.headersOf(raw, without.ports.clock.now())
  const answer = await without.app.inject({
    method: "POST",
    url: NOTIFICATION_PATH,
    headers,
    payload: raw,
  })
  await without.close()
  expect(answer.statusCode).toBe(401)
})
