/** Telnyx's call events, parsed into events of our own. */
import { describe, expect, it } from "vitest"
import { parseVoiceEvent } from "../../adapters/providers/voice/telnyx.ts"
import {
  parseClientState,
  encodeClientState,
} from "../../adapters/providers/voice/telnyx-commands.ts"

const AT = "2026-11-25T12:00:00.250000Z"
const at = Date.parse(AT)
const ours = { companyId: "co_1", callId: "call_1" } as const
const marked = (leg: number, mark: "" | "say" | "call" | "voicemail" = "") =>
  encodeClientState({ ...ours, leg, mark })
const leg = (number: number) => ({ kind: "leg", ...ours, leg: number, ref: "v3:a" })

function read(type: string, payload: object) {
  const data = { id: "evt", event_type: type, occurred_at: AT, payload }
  return parseVoiceEvent({ data: { ...data, record_type: "event" }, meta: {} })?.event ?? null
}

const ref = { call_control_id: "v3:a" }
const recorded = {
  call_leg_id: "leg-1",
  recording_started_at: "2026-11-25T11:59:00.000Z",
  recording_ended_at: "2026-11-25T12:00:10.499Z",
}
const toUs = { from: "+12125550100", to: "+12015550100" }

describe("an event of a call", () => {
  it.each([
    [
      "call.initiated",
      { ...ref, ...toUs, direction: "incoming", shaken_stir_attestation: "B" },
      { type: "call_came", ref: "v3:a", ...toUs, startedAt: at, attestation: "B" },
    ],
    [
      "call.initiated",
      { ...ref, to: "+1", direction: "incoming", shaken_stir_attestation: "no" },
      { type: "call_came", ref: "v3:a", from: "", to: "+1", startedAt: at, attestation: null },
    ],
    [
      "call.initiated",
      { ...ref, ...toUs, direction: "outgoing", client_state: marked(3) },
      { type: "leg_placed", leg: leg(3), ref: "v3:a" },
    ],
    [
      "call.answered",
      { ...ref, ...toUs },
      { type: "leg_open", leg: { kind: "caller", ref: "v3:a", to: toUs.to }, answeredAt: at },
    ],
    [
      "call.answered",
      { ...ref, client_state: marked(0) },
      { type: "leg_open", leg: leg(0), answeredAt: at },
    ],
    [
      "call.dtmf.received",
      { ...ref, client_state: marked(1), digit: "#" },
      { type: "digits", leg: leg(1), digits: "#" },
    ],
    [
      "call.gather.ended",
      { ...ref, client_state: marked(1), digits: "1", status: "valid" },
      { type: "digits", leg: leg(1), digits: "1" },
    ],
    [
      "call.gather.ended",
      { ...ref, client_state: marked(1), digits: "", status: "invalid" },
      { type: "ask_over", leg: leg(1) },
    ],
    [
      "call.gather.ended",
      { ...ref, client_state: marked(1), digits: "", status: "timeout" },
      { type: "ask_over", leg: leg(1) },
    ],
    [
      "call.speak.ended",
      { ...ref, client_state: marked(0, "say"), status: "completed" },
      { type: "said", leg: leg(0) },
    ],
    [
      "call.hangup",
      { ...ref, client_state: marked(2) },
      { type: "leg_gone", leg: leg(2), goneAt: at, answeredAt: null },
    ],
    [
      "call.recording.saved",
      { ...recorded, client_state: marked(0, "voicemail") },
      {
        type: "audio_ready",
        leg: { ...leg(0), ref: null },
        kind: "voicemail",
        seconds: 70,
        carrierRef: "leg-1",
      },
    ],
  ])("%s %j", (type, payload, event) => {
    expect(read(type, payload)).toEqual(event)
  })

  it.each([
    ["call.bridged", { ...ref, client_state: marked(0) }],
    ["call.recording.error", { client_state: marked(0, "call") }],
    ["call.machine.detection.ended", { ...ref, client_state: marked(0) }],
    ["call.initiated", { ...toUs, direction: "incoming" }],
    ["call.initiated", { ...ref, ...toUs, direction: "outgoing" }],
    ["call.initiated", { ...ref, ...toUs }],
    ["call.answered", { ...ref, ...toUs, direction: "outgoing" }],
    ["call.gather.ended", { ...ref, client_state: marked(1), status: "call_hangup" }],
    ["call.dtmf.received", { ...ref, client_state: marked(1) }],
    // The end of a question, and a notice that was cut off by a hangup.
    ["call.speak.ended", { ...ref, client_state: marked(1), status: "completed" }],
    ["call.speak.ended", { ...ref, client_state: marked(1, "say"), status: "call_hangup" }],
    ["call.recording.saved", { ...recorded, client_state: marked(0, "say") }],
    ["call.recording.saved", { call_leg_id: "leg-1", client_state: marked(0, "call") }],
    ["call.hangup", { ...ref }],
  ])("%s %j is ignored", (type, payload) => {
    expect(read(type, payload)).toBeNull()
  })
})

describe("the client state of a leg", () => {
  it("is decoded as it was encoded", () => {
    for (const mark of ["", "say", "call", "voicemail"] as const) {
      expect(parseClientState(encodeClientState({ ...ours, leg: 5, mark }))).toEqual({
        ...ours,
        leg: 5,
        mark,
      })
    }
  })

  it.each(["", "co_1", "co_1:call_1:6:", "co_1:call_1:0:other", "x:call_1:0:", "co_1:call_1:0::"])(
    "is null for %j, which we never encode",
    (text) => {
      expect(parseClientState(Buffer.from(text).toString("base64"))).toBeNull()
      expect(parseClientState(text)).toBeNull()
    },
  )
})
