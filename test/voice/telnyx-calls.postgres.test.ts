/** Calls over the webhooks of Telnyx: in order, out of order, doubled, forged, and not for us. */
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

/** Where Telnyx calls back. */
const CALLED_BACK = "/carriers/telnyx/calls"

/** Opens one for the calling test file and closes it after the file. */
async function openTelnyxWorld() {
  const account = signingAccount()
  /** What waits to be called back, in the order in which it happened. */
  const waiting: TelnyxCallEvent[] = []
  const standIn = await openTelnyxCallServer(
    (event) => void waiting.push(event),
    () => world.ports.clock.now(),
  )
  afterAll(() => standIn.close())
  const world = await ownVoiceWorld({
    settings: {
      TELNYX_KEY: "KEY0123456789",
      TELNYX_PUBLIC_KEY: account.publicKey,
      TELNYX_URL: standIn.url,
      TELNYX_CONNECTION: "1684641123236054244",
    },
  })
  /** Calls one back, signed now; the status of the answer. */
  const send = async (
    { raw }: Pick<TelnyxCallEvent, "raw">,
    signed: Record<string, string> = account.headersOf(raw, world.ports.clock.now()),
  ) => {
    const sent = { method: "POST", url: CALLED_BACK, headers: signed, payload: raw } as const
    return (await world.app.inject(sent)).statusCode
  }
  /** Calls everything back and does what follows, until nothing more comes of it. */
  const goOn = async () => {
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
    standIn,
    account,
    waiting,
    send,
    goOn,
    /** The legs that ring at the stand-in for a caller, or did. */
    phones: () => standIn.legs.filter(({ direction }) => direction === "outgoing"),
  }
}

const { world, standIn, account, waiting, send, goOn, phones } = await openTelnyxWorld()

/** Somebody calls, and phones ring. */
async function rung(company: CallableCompany): Promise<TelnyxLeg> {
  const caller = standIn.callIn(newCaller(), company.number)
  await goOn()
  return caller
}

const phonesOf = (company: CallableCompany) =>
  phones().filter(({ from, state }) => from === company.number && state !== "gone")

const call = ({ companyId }: CallableCompany, { ref }: TelnyxLeg) =>
  liveCallOf(world, { companyId }, callIdOf(ref))

async function then(leg: TelnyxLeg | undefined, doing: "answer" | "hang_up" | "hear" | "1" | "2") {
  const did = doing === "1" || doing === "2" ? { press: doing } : doing
  expect(leg !== undefined && standIn.performAction(leg, did)).toBe(true)
  await goOn()
}

describe("a call that Telnyx brings", () => {
  it("is screened, announced, recorded, charged by Telnyx's times, and listened to", async () => {
    const company = await makeCallableCompany(world, { phones: PHONES, recordCalls: true })
    const caller = await rung(company)
    const rings = phonesOf(company)
    expect(rings.map(({ to }) => to)).toEqual(PHONES)
    expect((await call(company, caller)).offered.attestation).toBe("A")
    await then(rings[1], "answer")
    await then(rings[1], "1")
    expect(rings.map(({ state }) => state)).toEqual(["gone", "open", "gone"])
    expect(caller.state).toBe("open")
    await then(caller, "hear")
    await then(rings[1], "hear")
    expect(caller.bridgedTo).toBe(rings[1])
    await advance(world, "70s")
    await then(caller, "hang_up")
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
    expect(standIn.recordings).toEqual([])
  })

  it("that nobody takes is greeted and leaves a voicemail", async () => {
    const company = await makeCallableCompany(world, { phones: PHONES.slice(0, 1) })
    const caller = await rung(company)
    await then(phonesOf(company)[0], "answer")
    await then(phonesOf(company)[0], "2")
    expect(phonesOf(company)).toEqual([])
    await then(caller, "hear")
    expect(standIn.commands.at(-1)?.body).toMatchObject({ play_beep: true, max_length: 180 })
    await advance(world, "12s")
    await then(caller, "hang_up")
    const [shown] = await listCallsOf(world, company)
    expect(shown).toMatchObject({ outcome: "voicemail", voicemailSeconds: 12, seconds: 12 })
    expect(await spentMicrosOf(world, company)).toBe(CALL_MINUTE_MICROS)
  })

  it("whose events come in the reverse order, each twice, is the same call", async () => {
    const company = await makeCallableCompany(world, {
      phones: PHONES.slice(0, 1),
      screenCalls: false,
    })
    const caller = await rung(company)
    const [phone] = phonesOf(company)
    standIn.performAction(phone as TelnyxLeg, "answer")
    await goOn()
    await advance(world, "61s")
    standIn.performAction(caller, "hang_up")
    const late = waiting.splice(0).toReversed()
    for (const event of [...late, ...late]) expect(await send(event)).toBe(200)
    await goOn()
    const [shown] = await listCallsOf(world, company)
    expect(shown).toMatchObject({
      outcome: "answered",
      seconds: 61,
      chargedMicros: 2 * CALL_MINUTE_MICROS,
    })
    expect(await spentMicrosOf(world, company)).toBe(2 * CALL_MINUTE_MICROS)
  })

  it("whose hang-up comes before it is missed, rings nobody and costs nothing", async () => {
    const company = await makeCallableCompany(world, { phones: PHONES })
    const caller = standIn.callIn(newCaller(), company.number)
    standIn.performAction(caller, "hang_up")
    for (const event of waiting.splice(0).toReversed()) expect(await send(event)).toBe(200)
    await goOn()
    expect(await listCallsOf(world, company)).toMatchObject([
      { outcome: "missed", chargedMicros: 0 },
    ])
    expect(phonesOf(company)).toEqual([])
    expect(await spentMicrosOf(world, company)).toBe(0)
  })

  it("knows a leg by its own first event where the answer to its dial was lost", async () => {
    const company = await makeCallableCompany(world, {
      phones: PHONES.slice(0, 1),
      screenCalls: false,
    })
    const caller = standIn.callIn(newCaller(), company.number)
    standIn.failNext("silent")
    await send(waiting.shift() ?? { raw: "" })
    await world.operate("wait")
    const [phone, ...others] = phonesOf(company)
    expect(others).toEqual([])
    await goOn()
    expect((await call(company, caller)).legs).toMatchObject([{ leg: 1, ref: phone?.ref }])
    // It is dialled again by the machine's clock: here, and not while another test counts what is asked.
    await expect
      .poll(async () => {
        const { jobs: work } = await world.operate("job list")
        return (work as ListedJob[]).filter(({ retryAt }) => retryAt !== null)
      })
      .toEqual([])
    await then(caller, "hang_up")
    expect(phones().filter(({ from }) => from === company.number)).toEqual([phone])
    expect(phone?.state).toBe("gone")
  })

  it("is asked about where nothing more is heard, and costs no minute of which nobody knows", async () => {
    const company = await makeCallableCompany(world, {
      phones: PHONES.slice(0, 1),
      screenCalls: false,
    })
    const caller = await rung(company)
    await then(phonesOf(company)[0], "answer")
    await advance(world, "20s")
    standIn.performAction(caller, "hang_up")
    waiting.length = 0
    await advance(world, "90s")
    await goOn()
    expect(await listCallsOf(world, company)).toMatchObject([{ outcome: "answered", seconds: 20 }])
    expect(await spentMicrosOf(world, company)).toBe(CALL_MINUTE_MICROS)
  })
})

describe("a test number on an installation that Telnyx serves", () => {
  it("is called by an operator as ever, and Telnyx hears nothing of it", async () => {
    const company = await makeCallableCompany(world, { phones: PHONES.slice(0, 1) })
    const before = standIn.commands.length
    const input = { from: newCaller(), to: company.number, outcome: "answered", seconds: "30" }
    await world.operate("carrier call-in", input)
    await world.operate("wait")
    expect(await listCallsOf(world, company)).toMatchObject([{ outcome: "answered", seconds: 30 }])
    expect(standIn.commands.length).toBe(before)
  })

  it("is answered by hand only where the built-in carrier has the call", async () => {
    const company = await makeCallableCompany(world, { phones: PHONES.slice(0, 1) })
    const caller = await rung(company)
    const answering = world.operate("call answer", { callId: callIdOf(caller.ref) })
    await expect(answering).rejects.toThrow("A real carrier has this call")
  })

  it("is another than a real one, which nobody pretends to call", async () => {
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

/** A call came, and is not told yet. */
function came(to = company.number): string {
  standIn.callIn(newCaller(), to)
  return waiting.pop()?.raw ?? ""
}

/** Nothing is recorded of what this sends; the statuses of the answers. */
async function nothingOf(sendAll: () => Promise<readonly number[]>): Promise<readonly number[]> {
  await world.operate("wait")
  const before = await head()
  const statuses = await sendAll()
  await world.operate("wait")
  expect(await head()).toBe(before)
  return statuses
}

const now = () => world.ports.clock.now()

describe("what Telnyx did not sign", () => {
  const forged: readonly (readonly [string, (raw: string) => Record<string, string>])[] = [
    ["has no signature", () => ({ "content-type": "application/json" })],
    ["has a wrong one", (raw) => account.headersOf(`${raw} `, now())],
    ["is another account's", (raw) => signingAccount().headersOf(raw, now())],
    ["is 301 seconds old", (raw) => account.headersOf(raw, now() - 301_000)],
    ["is of in 301 seconds", (raw) => account.headersOf(raw, now() + 301_000)],
  ]
  it.each(forged)("is no fact: it %s", async (_what, headersOf) => {
    const raw = came()
    const statuses = await nothingOf(async () => [await send({ raw }, headersOf(raw))])
    expect(statuses).toEqual([401])
  })

  it("was changed by one byte, is no fact, and stands in no log", async () => {
    const raw = came()
    const headers = account.headersOf(raw, now())
    const info = vi.spyOn(world.ports.log, "info")
    const changed = { raw: raw.replace('"incoming"', '"incominh"') }
    expect(await nothingOf(async () => [await send(changed, headers)])).toEqual([401])
    const logged = JSON.stringify([info.mock.calls, world.warnings])
    expect(logged).not.toContain(company.number)
    info.mockRestore()
  })

  it("has two megabytes, and is not read", async () => {
    const raw = JSON.stringify({ data: "x".repeat(2 * 1024 * 1024) })
    const statuses = await nothingOf(async () => [await send({ raw })])
    expect(statuses).toEqual([413])
  })
})

describe("what Telnyx signed", () => {
  it("is one call, however often it comes at once and later", async () => {
    const raw = came()
    const statuses = await Promise.all(Array.from({ length: 50 }, () => send({ raw })))
    expect(statuses).toContain(200)
    expect(statuses.every((status) => status === 200 || status === 503)).toBe(true)
    await goOn()
    expect(await listCallsOf(world, company)).toHaveLength(1)
    await nothingOf(async () => [await send({ raw })])
    await advance(world, "192h")
    expect(await nothingOf(async () => [await send({ raw })])).toEqual([200])
  })

  it("by which nobody here is called is turned away and counted", async () => {
    const raw = came("+12015550199")
    const before = standIn.commands.length
    expect(await nothingOf(async () => [await send({ raw })])).toEqual([200])
    expect(standIn.commands.slice(before)).toMatchObject([{ body: { cause: "CALL_REJECTED" } }])
    const { payload } = await world.app.inject({ method: "GET", url: "/metrics" })
    expect(payload).toMatch(/ledger_webhook_events_total.*telnyxCalls.*nobody.* 1/)
  })

  it("of a call goes by the number that was called, whoever else is named", async () => {
    const other = await makeCallableCompany(world, { phones: PHONES.slice(1, 2) })
    const { data } = JSON.parse(came(other.number))
    const mark = `${company.companyId}:call_x:0:`
    data.payload.client_state = Buffer.from(mark).toString("base64")
    expect(await send({ raw: JSON.stringify({ data }) })).toBe(200)
    await goOn()
    expect(await listCallsOf(world, company)).toEqual([])
    expect(await listCallsOf(world, other)).toHaveLength(1)
  })

  it("of a leg that another installation had called is nobody's", async () => {
    const { data } = JSON.parse(came())
    for (const type of ["call.answered", "call.hangup", "call.speak.ended", "call.initiated"]) {
      const state = Buffer.from(`${company.companyId}:call_elsewhere:0:say`).toString("base64")
      const payload = { ...data.payload, client_state: state, direction: "outgoing" }
      const raw = JSON.stringify({ data: { ...data, id: type, event_type: type, payload } })
      expect(await nothingOf(async () => [await send({ raw })])).toEqual([200])
    }
  })

  it.each([
    ["no JSON", "{"],
    ["no event", "[]"],
    ["no time", '{"data":{"id":"1","event_type":"call.hangup","payload":{}}}'],
    ["nothing that a call uses", '{"data":{"id":"1","event_type":"call.playback.started"}}'],
  ])("that is %s is taken and means nothing", async (_what, raw) => {
    expect(await nothingOf(async () => [await send({ raw })])).toEqual([200])
  })

  it("with a name twice is read once, by its last", async () => {
    const raw = came()
    const doubled = raw.replace('"event_type":', '"event_type":"call.hangup","event_type":')
    expect(await send({ raw: doubled })).toBe(200)
    await goOn()
    expect(await listCallsOf(world, company)).toMatchObject([{ status: "ringing" }])
  })

  it("and could not be stored is answered so that it comes again", async () => {
    const raw = came()
    const failing = vi.spyOn(world.ports.store, "append")
    failing.mockRejectedValue(new Unavailable("the store is away"))
    expect(await send({ raw })).toBe(503)
    failing.mockRestore()
    expect(await send({ raw })).toBe(200)
    await goOn()
    expect(await listCallsOf(world, company)).toHaveLength(1)
  })
})

it("an installation without Telnyx takes nothing at its address", async () => {
  const without = await openVoiceWorld()
  const raw = came()
  const headers = account.headersOf(raw, without.ports.clock.now())
  const answer = await without.app.inject({
    method: "POST",
    url: CALLED_BACK,
    headers,
    payload: raw,
  })
  await without.close()
  expect(answer.statusCode).toBe(401)
})
