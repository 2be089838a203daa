/** The contract of carriers of calls, for the simulator. */
import type { Simulators } from "../../adapters/providers/simulators/port.ts"
import { openSimulatedVoice } from "../../adapters/providers/voice/simulator.ts"
import type { VoiceEvent, VoiceLeg } from "../../adapters/providers/voice/port.ts"
import { NOW } from "../voice/call-commands.ts"
import { newTestSimulators } from "../voice/test-simulators.ts"
import { expect, it } from "vitest"
import type { VoiceUnderTest } from "./voice-contract.ts"
import { voiceContract } from "./voice-contract.ts"

async function simulatedVoice(): Promise<VoiceUnderTest & { readonly simulators: Simulators }> {
  let now = NOW
  let calls = 0
  const events: VoiceEvent[] = []
  const { simulatorMemory, simulators } = newTestSimulators()
  const pacer = { elapsedMs: () => 0, pause: async () => undefined }
  const ports = { simulatorMemory, simulators, pacer, clock: { now: () => now } }
  const voice = openSimulatedVoice(ports, async (event) => void events.push(event))
  return {
    voice,
    simulators,
    callIn: async (): Promise<VoiceLeg> => {
      const ref = `leg_${(calls += 1)}`
      const numbers = { from: "+12125550100", to: "+12015550100" }
      await voice.simulateCall({
        companyId: "co_1",
        ref,
        ...numbers,
        attestation: "A",
        script: null,
      })
      return { companyId: "co_1", callId: `call_${calls}`, leg: 0, ref }
    },
    events: () => events,
    performAction: async (leg, does) => {
      const action =
        does === "press 1" ? { action: "press" as const, digits: "1" } : { action: does }
      expect(await voice.performAction(leg, action)).toBe(true)
    },
    failNext: (outcome) => simulators.set({ name: "voice", outcome, times: 1 }),
    advance: (ms) => {
      now += ms
    },
  }
}

voiceContract("the simulator", simulatedVoice)

it("the simulator can end a leg or be slow, and reports an unknown leg as ended", async () => {
  const { voice, callIn, simulators } = await simulatedVoice()
  const next = (outcome: string) => simulators.set({ name: "voice", outcome, times: 1 })
  const leg = await callIn()
  await next("gone")
  expect(await voice.execute({ word: "answer", leg }, "call_1:1:0")).toEqual({ outcome: "gone" })
  await next("slow")
  expect(await voice.execute({ word: "answer", leg }, "call_1:2:0")).toMatchObject({
    outcome: "done",
  })
  expect(await voice.checkLegStatus("nothing")).toEqual({
    isAlive: false,
    answeredAt: null,
    endedAt: null,
  })
})
