/** Whole calls over the webhooks of Telnyx: in order, out of order and doubled. */
import { beforeEach, describe, expect, it } from "vitest"
import type { ListedWork } from "../../adapters/work/port.ts"
import { phoneOf } from "../../domain/phone/aggregates.ts"
import { causedBy } from "../../src/frame/kernel/envelope.ts"
import { callIdOf } from "../../src/voice/receive.ts"
import { listed as listedRecordings, listen } from "../recordings/recorded.ts"
import type { TelnyxLeg } from "../support/telnyx-calls.ts"
import { openTelnyxWorld } from "./telnyx-world.ts"
import type { Called } from "./voice-world.ts"
import { MINUTE, PHONES, callOf, listed, makeCalled, newCaller } from "./voice-world.ts"
import { advance, spentOf } from "../support/world.ts"

const telnyx = await openTelnyxWorld()
beforeEach(() => {
  telnyx.waiting.length = 0
})

/** Somebody calls, and phones ring. */
async function rung(company: Called): Promise<TelnyxLeg> {
  const caller = telnyx.standIn.callIn(newCaller(), company.to)
  await telnyx.goOn()
  return caller
}

const phonesOf = (company: Called) =>
  telnyx.phones().filter(({ from, state }) => from === company.to && state !== "gone")

const call = ({ companyId }: Called, { ref }: TelnyxLeg) =>
  callOf(telnyx.world, { companyId }, callIdOf(ref))

async function then(leg: TelnyxLeg | undefined, doing: "answer" | "hang_up" | "hear" | "1" | "2") {
  const did = doing === "1" || doing === "2" ? { press: doing } : doing
  expect(leg !== undefined && telnyx.standIn.does(leg, did)).toBe(true)
  await telnyx.goOn()
}

describe("a call that Telnyx brings", () => {
  it("is screened, announced, recorded, charged by Telnyx's times, and listened to", async () => {
    const { world, standIn } = telnyx
    const company = await makeCalled(world, { phones: PHONES, recordCalls: true })
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
    expect(await listed(world, company)).toMatchObject([
      {
        status: "completed",
        outcome: "answered",
        seconds: 70,
        recorded: true,
        forwardedTo: PHONES[1],
        recordingSeconds: 70,
        chargedMicros: 2 * MINUTE,
      },
    ])
    expect(await spentOf(world, company)).toBe(2 * MINUTE)
    expect(rings[1]?.state).toBe("gone")
    const [recording] = await listedRecordings(world, company)
    expect(recording).toMatchObject({ recording: { seconds: 70 } })
    const { bytes } = await listen(world, company, callIdOf(caller.ref))
    expect(bytes.length).toBeGreaterThan(200_000)
    expect(standIn.recordings).toEqual([])
  })

  it("that nobody takes is greeted and leaves a voicemail", async () => {
    const { world, standIn } = telnyx
    const company = await makeCalled(world, { phones: PHONES.slice(0, 1) })
    const caller = await rung(company)
    await then(phonesOf(company)[0], "answer")
    await then(phonesOf(company)[0], "2")
    expect(phonesOf(company)).toEqual([])
    await then(caller, "hear")
    expect(standIn.asked.at(-1)?.body).toMatchObject({ play_beep: true, max_length: 180 })
    await advance(world, "12s")
    await then(caller, "hang_up")
    const [shown] = await listed(world, company)
    expect(shown).toMatchObject({ outcome: "voicemail", voicemailSeconds: 12, seconds: 12 })
    expect(await spentOf(world, company)).toBe(MINUTE)
  })

  it("whose events come in the reverse order, each twice, is the same call", async () => {
    const { world, waiting, standIn, send, goOn } = telnyx
    const company = await makeCalled(world, { phones: PHONES.slice(0, 1), screenCalls: false })
    const caller = await rung(company)
    const [phone] = phonesOf(company)
    standIn.does(phone as TelnyxLeg, "answer")
    await goOn()
    await advance(world, "61s")
    standIn.does(caller, "hang_up")
    const late = waiting.splice(0).toReversed()
    for (const event of [...late, ...late]) expect(await send(event)).toBe(200)
    await goOn()
    const [shown] = await listed(world, company)
    expect(shown).toMatchObject({ outcome: "answered", seconds: 61, chargedMicros: 2 * MINUTE })
    expect(await spentOf(world, company)).toBe(2 * MINUTE)
  })

  it("whose hang-up comes before it is missed, rings nobody and costs nothing", async () => {
    const { world, waiting, standIn, send, goOn } = telnyx
    const company = await makeCalled(world, { phones: PHONES })
    const caller = standIn.callIn(newCaller(), company.to)
    standIn.does(caller, "hang_up")
    for (const event of waiting.splice(0).toReversed()) expect(await send(event)).toBe(200)
    await goOn()
    expect(await listed(world, company)).toMatchObject([{ outcome: "missed", chargedMicros: 0 }])
    expect(phonesOf(company)).toEqual([])
    expect(await spentOf(world, company)).toBe(0)
  })

  it("knows a leg by its own first event where the answer to its dial was lost", async () => {
    const { world, waiting, standIn, send, goOn } = telnyx
    const company = await makeCalled(world, { phones: PHONES.slice(0, 1), screenCalls: false })
    const caller = standIn.callIn(newCaller(), company.to)
    standIn.next("silent")
    await send(waiting.shift() ?? { raw: "" })
    await world.operate("wait")
    const [phone, ...others] = phonesOf(company)
    expect(others).toEqual([])
    await goOn()
    expect((await call(company, caller)).legs).toMatchObject([{ leg: 1, ref: phone?.ref }])
    // It is dialled again by the machine's clock: here, and not while another test counts what is asked.
    await expect
      .poll(async () => {
        const { work } = await world.operate("work list")
        return (work as ListedWork[]).filter(({ nextTryAt }) => nextTryAt !== null)
      })
      .toEqual([])
    await then(caller, "hang_up")
    expect(telnyx.phones().filter(({ from }) => from === company.to)).toEqual([phone])
    expect(phone?.state).toBe("gone")
  })

  it("is asked about where nothing more is heard, and costs no minute of which nobody knows", async () => {
    const { world, waiting, standIn } = telnyx
    const company = await makeCalled(world, { phones: PHONES.slice(0, 1), screenCalls: false })
    const caller = await rung(company)
    await then(phonesOf(company)[0], "answer")
    await advance(world, "20s")
    standIn.does(caller, "hang_up")
    waiting.length = 0
    await advance(world, "90s")
    await telnyx.goOn()
    expect(await listed(world, company)).toMatchObject([{ outcome: "answered", seconds: 20 }])
    expect(await spentOf(world, company)).toBe(MINUTE)
  })
})

describe("a test number on an installation that Telnyx serves", () => {
  it("is called by an operator as ever, and Telnyx hears nothing of it", async () => {
    const { world, standIn } = telnyx
    const company = await makeCalled(world, { phones: PHONES.slice(0, 1) })
    const before = standIn.asked.length
    const input = { from: newCaller(), to: company.to, outcome: "answered", seconds: "30" }
    await world.operate("carrier call-in", input)
    await world.operate("wait")
    expect(await listed(world, company)).toMatchObject([{ outcome: "answered", seconds: 30 }])
    expect(standIn.asked.length).toBe(before)
  })

  it("is answered by hand only where the built-in carrier has the call", async () => {
    const { world } = telnyx
    const company = await makeCalled(world, { phones: PHONES.slice(0, 1) })
    const caller = await rung(company)
    const answering = world.operate("call answer", { callId: callIdOf(caller.ref) })
    await expect(answering).rejects.toThrow("A real carrier has this call")
  })

  it("is another than a real one, which nobody pretends to call", async () => {
    const { world } = telnyx
    const company = await makeCalled(world)
    const { runner, sealing } = world.ports
    const { companyId } = company
    const number = "+12125550777"
    const held = {
      ...({ type: "AddNumber", numberId: "num_real", kind: "local" } as const),
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
    await runner.execute(phoneOf(companyId), held, causedBy("test number"))
    const calling = world.operate("carrier call-in", { from: newCaller(), to: number })
    await expect(calling).rejects.toThrow("A real carrier serves this number")
  })
})
