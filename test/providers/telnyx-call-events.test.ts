/** What Telnyx says of calls, read without its words. */
import { describe, expect, it } from "vitest"
import { eventIn } from "../../adapters/providers/voice/telnyx.ts"
import { stateIn, stateOf } from "../../adapters/providers/voice/telnyx-commands.ts"

const AT = "2026-11-25T12:00:00.250000Z"
const at = Date.parse(AT)
const ours = { companyId: "co_1", callId: "call_1" } as const
const marked = (leg: number, mark: "" | "say" | "call" | "voicemail" = "") =>
  stateOf({ ...ours, leg, mark })
const leg = (number: number) => ({ of: "leg", ...ours, leg: number, ref: "v3:a" })

function read(type: string, payload: object) {
  const data = { id: "evt", event_type: type, occurred_at: AT, payload }
  return eventIn({ data: { ...data, record_type: "event" }, meta: {} })?.event ?? null
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
      { is: "call_came", ref: "v3:a", ...toUs, startedAt: at, attestation: "B" },
    ],
    [
      "call.initiated",
      { ...ref, to: "+1", direction: "incoming", shaken_stir_attestation: "no" },
      { is: "call_came", ref: "v3:a", from: "", to: "+1", startedAt: at, attestation: null },
    ],
    [
      "call.initiated",
      { ...ref, ...toUs, direction: "outgoing", client_state: marked(3) },
      { is: "leg_placed", leg: leg(3), ref: "v3:a" },
    ],
    [
      "call.answered",
      { ...ref, ...toUs },
      { is: "leg_open", leg: { of: "caller", ref: "v3:a", to: toUs.to }, answeredAt: at },
    ],
    [
      "call.answered",
      { ...ref, client_state: marked(0) },
      { is: "leg_open", leg: leg(0), answeredAt: at },
    ],
    [
      "call.dtmf.received",
      { ...ref, client_state: marked(1), digit: "#" },
      { is: "digits", leg: leg(1), digits: "#" },
    ],
    [
      "call.gather.ended",
      { ...ref, client_state: marked(1), digits: "1", status: "valid" },
      { is: "digits", leg: leg(1), digits: "1" },
    ],
    [
      "call.gather.ended",
      { ...ref, client_state: marked(1), digits: "", status: "invalid" },
      { is: "ask_over", leg: leg(1) },
    ],
    [
      "call.gather.ended",
      { ...ref, client_state: marked(1), digits: "", status: "timeout" },
      { is: "ask_over", leg: leg(1) },
    ],
    [
      "call.speak.ended",
      { ...ref, client_state: marked(0, "say"), status: "completed" },
      { is: "said", leg: leg(0) },
    ],
    [
      "call.hangup",
      { ...ref, client_state: marked(2) },
      { is: "leg_gone", leg: leg(2), goneAt: at, answeredAt: null },
    ],
    [
      "call.recording.saved",
      { ...recorded, client_state: marked(0, "voicemail") },
      {
        is: "audio_ready",
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
    // A question ended, and a notice that nobody heard to its end.
    ["call.speak.ended", { ...ref, client_state: marked(1), status: "completed" }],
    ["call.speak.ended", { ...ref, client_state: marked(1, "say"), status: "call_hangup" }],
    ["call.recording.saved", { ...recorded, client_state: marked(0, "say") }],
    ["call.recording.saved", { call_leg_id: "leg-1", client_state: marked(0, "call") }],
    ["call.hangup", { ...ref }],
  ])("%s %j says nothing that a call could use", (type, payload) => {
    expect(read(type, payload)).toBeNull()
  })
})

describe("what goes along with a leg", () => {
  it("comes back as it went", () => {
    for (const mark of ["", "say", "call", "voicemail"] as const) {
      expect(stateIn(stateOf({ ...ours, leg: 5, mark }))).toEqual({ ...ours, leg: 5, mark })
    }
  })

  it.each(["", "co_1", "co_1:call_1:6:", "co_1:call_1:0:other", "x:call_1:0:", "co_1:call_1:0::"])(
    "is not ours as %j",
    (text) => {
      expect(stateIn(Buffer.from(text).toString("base64"))).toBeNull()
      expect(stateIn(text)).toBeNull()
    },
  )
})
