/** A call's minutes against limits and funds, to the micro and to the millisecond. */
import { describe, expect, it } from "vitest"
import { causedBy } from "../../src/frame/kernel/envelope.ts"
import { receiveCallEvent } from "../../src/voice/receive.ts"
import type { Called } from "./voice-world.ts"
import {
  MINUTE,
  PHONES,
  callIn,
  callOf,
  does,
  listed,
  makeCalled,
  minutesOfBill,
  playCall,
  sharedVoiceWorld,
  switchCountry,
} from "./voice-world.ts"
import { setLimit } from "../support/company.ts"
import { advance, spentOf } from "../support/world.ts"

const world = await sharedVoiceWorld()

const UNSCREENED = { phones: PHONES.slice(0, 1), screenCalls: false }

/** A call that two people talk in, since now. */
async function talking(company: Called) {
  const callId = await callIn(world, company)
  await does(world, "answer", callId)
  const call = await callOf(world, company, callId)
  expect(call.phase).toBe("talking")
  return { callId, answeredAt: call.answeredAt ?? 0, ref: call.offered.carrierRef }
}

/** The carrier says that the caller went. */
async function tellGone(company: Called, ref: string, goneAt: number): Promise<void> {
  const leg = { of: "caller", ref, to: company.to } as const
  const event = { is: "leg_gone", leg, goneAt, answeredAt: null } as const
  await receiveCallEvent(world.ports, event, causedBy("test gone"))
  await world.operate("wait")
}

const keptOf = async (company: Called) =>
  (await minutesOfBill(world, company)).map(({ kept, state }) => [kept, state])

describe("a limit for exactly so many minutes", () => {
  it.each([
    ["0.011999", 0],
    ["0.012", 1],
    ["0.012001", 1],
    ["0.023999", 1],
    ["0.024", 2],
    ["0.024001", 2],
  ])("of %s dollars lets %d begin", async (dollars, count) => {
    const company = await makeCalled(world, UNSCREENED)
    await setLimit(world, company, { dollars })
    const callId = await callIn(world, company)
    if (count === 0) {
      expect(await callOf(world, company, callId)).toMatchObject({ outcome: "missed", legs: [] })
    } else {
      await does(world, "answer", callId)
      await advance(world, "5m")
      expect(await callOf(world, company, callId)).toMatchObject({ outcome: "answered" })
    }
    const call = await callOf(world, company, callId)
    expect(call).toMatchObject({ phase: "ended", reason: "money", refused: count + 1 })
    expect(call.goneAt).not.toBeNull()
    expect(await keptOf(company)).toEqual(Array.from({ length: count }, () => [MINUTE, "final"]))
    expect(await spentOf(world, company)).toBe(count * MINUTE)
    // The evidence of the no is there for auditors.
    const { refusals } = await world.operate("refusals list", { company: company.companyId })
    expect(refusals).toHaveLength(1)
  })
})

describe("a hang-up", () => {
  it.each([
    [59_999, 1],
    [60_000, 1],
    [60_001, 2],
  ])("after %d milliseconds leaves %d minutes", async (lastsMs, count) => {
    const company = await makeCalled(world, UNSCREENED)
    const { callId, answeredAt } = await talking(company)
    await world.operate("clock set", { to: new Date(answeredAt + lastsMs).toISOString() })
    await does(world, "hang-up", callId)
    expect(await keptOf(company)).toEqual(Array.from({ length: count }, () => [MINUTE, "final"]))
  })

  it("that comes late gives the minute back that was charged meanwhile", async () => {
    const company = await makeCalled(world, UNSCREENED)
    const { answeredAt, ref } = await talking(company)
    await advance(world, "62s")
    expect(await keptOf(company)).toEqual([
      [MINUTE, "final"],
      [MINUTE, "open"],
    ])
    await tellGone(company, ref, answeredAt + 60_000)
    expect(await keptOf(company)).toEqual([
      [MINUTE, "final"],
      [0, "given_back"],
    ])
    expect(await listed(world, company)).toMatchObject([{ seconds: 60, chargedMicros: MINUTE }])
  })

  it("that comes very late gives those back too that were closed", async () => {
    const company = await makeCalled(world, UNSCREENED)
    const { answeredAt, ref } = await talking(company)
    await advance(world, "190s")
    await tellGone(company, ref, answeredAt + 70_000)
    expect(await keptOf(company)).toEqual([
      [MINUTE, "final"],
      [MINUTE, "final"],
      [0, "given_back"],
      [0, "given_back"],
    ])
    // An earlier time wins over it, a later one changes nothing.
    await tellGone(company, ref, answeredAt + 50_000)
    await tellGone(company, ref, answeredAt + 170_000)
    expect(await spentOf(world, company)).toBe(MINUTE)
    expect(await listed(world, company)).toMatchObject([{ seconds: 50, chargedMicros: MINUTE }])
  })
})

describe("minutes that were spoken while nobody charged", () => {
  it("are charged once, in order, and say when they were served", async () => {
    const company = await makeCalled(world, UNSCREENED)
    const callId = await playCall(world, company, "answered", { seconds: "301" })
    const { answeredAt } = await callOf(world, company, callId)
    const bill = await minutesOfBill(world, company)
    expect(bill.map(({ minute }) => minute)).toEqual([1, 2, 3, 4, 5, 6])
    const served = bill.map(({ servedFrom }) => servedFrom?.getTime() ?? null)
    const late = [2, 3, 4, 5].map((minute) => (answeredAt ?? 0) + (minute - 1) * 60_000)
    expect(served).toEqual([null, ...late, null])
    expect(await listed(world, company)).toMatchObject([{ chargedMicros: 6 * MINUTE }])
  })

  it("are written off from the first that the funds do not cover", async () => {
    const company = await makeCalled(world, UNSCREENED, "0.036")
    await playCall(world, company, "answered", { seconds: "301" })
    expect(await keptOf(company)).toEqual(Array.from({ length: 3 }, () => [MINUTE, "final"]))
    expect(await listed(world, company)).toMatchObject([
      { outcome: "answered", seconds: 301, chargedMicros: 3 * MINUTE },
    ])
    expect((await world.operate("audit verify", { company: company.companyId })).ok).toBe(true)
  })
})

describe("who takes a call", () => {
  it("costs what their country does, and the first minute the dearest until it is known", async () => {
    const company = await makeCalled(world, { phones: [PHONES[0], "+442079460958"] })
    await switchCountry(world, company, "GB", true)
    const callId = await callIn(world, company)
    expect(await keptOf(company)).toEqual([[60_000, "open"]])
    expect((await callOf(world, company, callId)).legs).toHaveLength(2)
    await does(world, "answer", callId, { leg: 1 })
    await does(world, "press", callId, { digits: "1" })
    expect(await keptOf(company)).toEqual([[MINUTE, "final"]])
    await advance(world, "61s")
    await does(world, "hang-up", callId)
    expect(await spentOf(world, company)).toBe(2 * MINUTE)
  })
})
