/** Telnyx passes the contract of carriers of calls, against a simulator of its API on this machine. */
import { afterAll, expect, it } from "vitest"
import {
  ProviderOutcomeUnknown,
  ProviderUnavailable,
} from "../../adapters/providers/provider-errors.ts"
import type { VoiceEvent, VoiceLeg } from "../../adapters/providers/voice/port.ts"
import { RecordingNotFound } from "../../adapters/providers/voice/port.ts"
import { openTelnyxVoice } from "../../adapters/providers/voice/telnyx.ts"
import type { TelnyxCallServer } from "../support/telnyx-call-server.ts"
import { openTelnyxCallServer } from "../support/telnyx-call-server.ts"
import { signingAccount } from "../support/telnyx-signing.ts"
import { NOW } from "../voice/call-commands.ts"
import type { VoiceUnderTest } from "./voice-contract.ts"
import { voiceContract } from "./voice-contract.ts"

const account = signingAccount()
const opened: TelnyxCallServer[] = []
afterAll(async () => {
  await Promise.all(opened.map((one) => one.close()))
})

async function telnyx() {
  let now = NOW
  let calls = 0
  const events: VoiceEvent[] = []
  const warnings: object[] = []
  const server = await openTelnyxCallServer(
    ({ raw }) => {
      const headers = account.headersOf(raw, now)
      const read = voice.readWebhook(
        { header: (name) => headers[name] ?? null, raw: Buffer.from(raw) },
        now,
      )
      events.push(...(read?.events ?? []).map(({ event }) => event))
    },
    () => now,
  )
  opened.push(server)
  const voice = openTelnyxVoice({
    key: "KEY1",
    publicKey: account.publicKey,
    url: server.url,
    connectionId: "168",
    warn: (_message, detail) => warnings.push(detail),
  })
  const fixture: VoiceUnderTest = {
    voice,
    callIn: async (): Promise<VoiceLeg> => {
      const { ref } = server.callIn("+12125550100", "+12015550100")
      return { companyId: "co_1", callId: `call_${(calls += 1)}`, leg: 0, ref }
    },
    events: () => events,
    performAction: async ({ ref }, does) => {
      const leg = server.legs.find((one) => one.ref === ref)
      const action = does === "press 1" ? { press: "1" } : does
      expect(leg !== undefined && server.performAction(leg, action)).toBe(true)
    },
    failNext: async (how) => server.failNext(how),
    advance: (ms) => {
      now += ms
    },
  }
  return { ...fixture, real: voice, server, warnings }
}

voiceContract("Telnyx", telnyx)

const id = "call_1:7:0"

it("gets each command as its documentation requires", async () => {
  const { voice, callIn, server } = await telnyx()
  const caller = await callIn()
  const leg = { ...caller, leg: 1, ref: null }
  const numbers = { from: "+12015550100", to: "+14155550101" }
  const dialled = await voice.execute({ word: "dial", leg, caller, ...numbers, ringSeconds: 3 }, id)
  const open = { ...leg, ref: dialled.outcome === "done" ? dialled.ref : null }
  const text = "Hello."
  await voice.execute({ word: "answer", leg: caller }, "2")
  await voice.execute({ word: "ask", leg: open, text, waitSeconds: 20 }, "3")
  await voice.execute({ word: "say", leg: caller, text }, "4")
  await voice.execute({ word: "join", leg: caller, other: open }, "5")
  await voice.execute({ word: "record", leg: caller, kind: "voicemail", mostSeconds: 180 }, "6")
  await voice.execute({ word: "hang_up", leg: open }, "7")
  const state = (number: number, mark: string) =>
    Buffer.from(`co_1:call_1:${number}:${mark}`).toString("base64")
  const at = (ref: string | null, action: string) => `/v2/calls/${ref}/actions/${action}`
  const spoken = { payload: text, voice: "female", language: "en-US", service_level: "basic" }
  expect(server.commands).toEqual([
    {
      path: "/v2/calls",
      body: {
        ...numbers,
        connection_id: "168",
        link_to: caller.ref,
        command_id: id,
        client_state: state(1, ""),
        timeout_secs: 5,
        time_limit_secs: 14_400,
        retry_on_timeout: false,
      },
    },
    { path: at(caller.ref, "answer"), body: { command_id: "2", client_state: state(0, "") } },
    {
      path: at(open.ref, "gather_using_speak"),
      body: {
        ...spoken,
        command_id: "3",
        client_state: state(1, ""),
        valid_digits: "1",
        minimum_digits: 1,
        maximum_digits: 1,
        maximum_tries: 1,
        timeout_millis: 20_000,
      },
    },
    {
      path: at(caller.ref, "speak"),
      body: { ...spoken, command_id: "4", client_state: state(0, "say") },
    },
    { path: at(caller.ref, "bridge"), body: { command_id: "5", call_control_id: open.ref } },
    {
      path: at(caller.ref, "record_start"),
      body: {
        format: "mp3",
        channels: "single",
        play_beep: true,
        max_length: 180,
        command_id: "6",
        client_state: state(0, "voicemail"),
      },
    },
    { path: at(open.ref, "hangup"), body: { command_id: "7" } },
  ])
})

it("treats a leg as gone if it rejects a command for it, and logs unexpected reasons", async () => {
  const { voice, callIn, server, warnings } = await telnyx()
  const caller = await callIn()
  const leg = { ...caller, leg: 1, ref: null }
  const dial = { word: "dial", leg, caller, from: "+1", to: "+2", ringSeconds: 25 } as const
  server.failNext({ refuses: 403, code: "10010" })
  expect(await voice.execute(dial, id)).toEqual({ outcome: "gone" })
  expect(warnings).toEqual([{ word: "dial", status: 403, code: "10010" }])
  server.failNext({ refuses: 422, code: "90018" })
  expect(await voice.execute({ word: "answer", leg: caller }, id)).toEqual({ outcome: "gone" })
  expect(warnings).toHaveLength(1)
})

it("executes nothing if there are too many calls or the key is invalid", async () => {
  const { voice, callIn, server } = await telnyx()
  const answer = { word: "answer", leg: await callIn() } as const
  for (const [refuses, code] of [
    [429, "90103"],
    [403, "90103"],
    [401, "10009"],
  ] as const) {
    server.failNext({ refuses, code })
    await expect(voice.execute(answer, id)).rejects.toThrow(ProviderUnavailable)
  }
})

it.each([307, 408, 409, 425, 500, 502, 503, 504])(
  "may have executed a command that it answers with %i, so the command is retried",
  async (refuses) => {
    const { voice, callIn, server, warnings } = await telnyx()
    const answer = { word: "answer", leg: await callIn() } as const
    server.failNext({ refuses, code: "10007" })
    await expect(voice.execute(answer, id)).rejects.toThrow(ProviderOutcomeUnknown)
    expect(await voice.execute(answer, id)).toMatchObject({ outcome: "done" })
    expect(warnings).toEqual([])
  },
)

it("gets no commands for a leg without a reference", async () => {
  const { voice, callIn, server } = await telnyx()
  const leg = { ...(await callIn()), leg: 1, ref: null }
  expect(await voice.execute({ word: "hang_up", leg }, id)).toEqual({ outcome: "done", ref: null })
  const asking = voice.execute({ word: "ask", leg, text: "1?", waitSeconds: 20 }, id)
  await expect(asking).rejects.toThrow(ProviderUnavailable)
  expect(server.commands).toEqual([])
})

it("reports an unknown leg as ended, but not if the status cannot be read", async () => {
  const { voice, server } = await telnyx()
  const unknown = { isAlive: false, answeredAt: null, endedAt: null }
  expect(await voice.checkLegStatus("v3:nothing")).toEqual(unknown)
  server.failNext({ refuses: 403, code: "10010" })
  await expect(voice.checkLegStatus("v3:nothing")).rejects.toThrow(ProviderUnavailable)
  server.failNext("silent")
  await expect(voice.checkLegStatus("v3:nothing")).rejects.toThrow(ProviderOutcomeUnknown)
})

it("rejects a call to an unknown number", async () => {
  const { real, voice, callIn, server } = await telnyx()
  const { ref } = await callIn()
  await real.rejectCall(ref ?? "")
  expect(server.commands).toMatchObject([{ path: `/v2/calls/${ref}/actions/reject` }])
  expect(await voice.checkLegStatus(ref ?? "")).toMatchObject({ isAlive: false })
})

it("has no audio for a leg without a recording", async () => {
  const { voice } = await telnyx()
  await expect(voice.downloadRecording("nothing")).rejects.toThrow(RecordingNotFound)
  await expect(voice.deleteRecording("nothing")).resolves.toBeUndefined()
})
