/** What people are told on calls, and operators of them. */
import { afterEach, describe, expect, it, vi } from "vitest"
import { USUAL_RECORDING_NOTICE } from "../../domain/phone/number-settings.ts"
import {
  MINUTE,
  PHONES,
  callIn,
  does,
  makeCalled,
  minutesOfBill,
  newCaller,
  sharedVoiceWorld,
} from "./voice-world.ts"

const world = await sharedVoiceWorld()
afterEach(() => {
  vi.restoreAllMocks()
})

describe("both who talk", () => {
  it("hear the notice that the settings show, where nobody chose other words", async () => {
    const set = { phones: PHONES.slice(0, 1), screenCalls: false, recordCalls: true }
    const company = await makeCalled(world, set)
    const doing = vi.spyOn(world.ports.voice, "do")
    const callId = await callIn(world, company)
    await does(world, "answer", callId)
    const told = doing.mock.calls.map(([command]) => command)
    const said = told.flatMap((command) => (command.word === "say" ? [command.text] : []))
    expect(said).toEqual([USUAL_RECORDING_NOTICE, USUAL_RECORDING_NOTICE])
    const { body } = await world.call(company.key, "GET", "/api/v1/phone/settings")
    expect(body.numbers[0].recordingNotice).toBe(USUAL_RECORDING_NOTICE)
  })
})

describe("an operator", () => {
  it("is shown who was asked, who took the call and who talks", async () => {
    const company = await makeCalled(world, { phones: PHONES.slice(0, 2), recordCalls: true })
    const callId = await callIn(world, company)
    await does(world, "answer", callId, { leg: 1 })
    // Pressing any other phone's keys is refused, with how each stands.
    await expect(does(world, "press", callId, { leg: 2, digits: "1" })).rejects.toThrow(
      "Nobody can do so on this call now: it is ringing, and leg 1 is asked, leg 2 is ringing.",
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
    const company = await makeCalled(world)
    const callId = await callIn(world, company)
    await expect(does(world, "answer", callId)).rejects.toThrow(
      "Nobody can do so on this call now: it is greeting, and no phone was called.",
    )
  })

  it("has a whole call played with its minutes, each of which is settled", async () => {
    const company = await makeCalled(world, { phones: PHONES.slice(0, 1) })
    const called = { from: newCaller(), to: company.to, outcome: "answered", seconds: "600" }
    expect(await world.operate("carrier call-in", called)).toMatchObject({ minutesPaid: 10 })
    const minutes = await minutesOfBill(world, company)
    expect(minutes.map(({ kept, state }) => [kept, state])).toEqual(
      Array.from({ length: 10 }, () => [MINUTE, "final"]),
    )
  })
})
