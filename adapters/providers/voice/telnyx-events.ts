/** What Telnyx says of calls, read: events without a vendor's words, with Telnyx's own times. */
import { z } from "zod"
import type { LegNamed, VoiceEvent } from "./port.ts"
import { stateIn } from "./telnyx-commands.ts"

const text = z.string().nullish()
const Told = z.object({
  data: z.object({
    id: z.string().min(1).max(255),
    event_type: z.string(),
    /** Without it nobody knows when it was; minutes are counted by it. */
    occurred_at: z.iso.datetime({ offset: true }),
    payload: z.object({
      call_control_id: text,
      call_leg_id: text,
      client_state: text,
      direction: text,
      from: text,
      to: text,
      digit: text,
      digits: text,
      status: text,
      shaken_stir_attestation: text,
      start_time: text,
      recording_started_at: text,
      recording_ended_at: text,
    }),
  }),
})

type Payload = z.infer<typeof Told>["data"]["payload"]

/** An event with Telnyx's own id of it. */
export interface ToldOfCall {
  readonly id: string
  readonly event: VoiceEvent
}

/** What a body says; null where it says nothing that a call could use. */
export function eventIn(body: unknown): ToldOfCall | null {
  const read = Told.safeParse(body)
  if (!read.success) return null
  const { id, event_type: type, occurred_at: occurredAt, payload } = read.data.data
  const event = eventOf(type, payload, Date.parse(occurredAt))
  return event === null ? null : { id, event }
}

function eventOf(type: string, payload: Payload, at: number): VoiceEvent | null {
  if (type === "call.initiated") return initiated(payload, at)
  const leg = legIn(payload)
  if (leg === null) return null
  switch (type) {
    case "call.answered":
      return { is: "leg_open", leg, answeredAt: at }
    case "call.dtmf.received":
      return payload.digit ? { is: "digits", leg, digits: payload.digit } : null
    case "call.gather.ended":
      return gathered(leg, payload)
    case "call.speak.ended": {
      // What a question was asked with ends too: only what was said to be heard counts as heard.
      const isHeard = stateIn(payload.client_state)?.mark === "say"
      return isHeard && payload.status !== "call_hangup" ? { is: "said", leg } : null
    }
    case "call.hangup":
      // When the leg was opened Telnyx said before, and does not say again.
      return { is: "leg_gone", leg, goneAt: at, answeredAt: null }
    case "call.recording.saved":
      return recorded(leg, payload)
    // `call.bridged` and `call.recording.error` change nothing of a call: nothing waits for them.
    default:
      return null
  }
}

/** A call that came, or the name of a leg that we had called: its answer may have been lost. */
function initiated(payload: Payload, at: number): VoiceEvent | null {
  const { direction, call_control_id: ref, from, to, shaken_stir_attestation: shaken } = payload
  if (!ref) return null
  if (direction === "outgoing") {
    const leg = legIn(payload)
    return leg === null ? null : { is: "leg_placed", leg, ref }
  }
  if (direction !== "incoming" || !to) return null
  const attestation = shaken === "A" || shaken === "B" || shaken === "C" ? shaken : null
  return { is: "call_came", ref, from: from ?? "", to, startedAt: at, attestation }
}

/** Which leg it is: by what went along with it, else by its own name and the number that was called. */
function legIn({ client_state, call_control_id, direction, to }: Payload): LegNamed | null {
  const state = stateIn(client_state)
  const ref = call_control_id ?? null
  if (state !== null) {
    const { companyId, callId, leg } = state
    return { of: "leg", companyId, callId, leg, ref }
  }
  if (ref === null || !to || direction === "outgoing") return null
  return { of: "caller", ref, to }
}

/** Which key was pressed; a key that was not asked for is one too. */
function gathered(leg: LegNamed, { digits, status }: Payload): VoiceEvent | null {
  if (status !== "valid" && status !== "invalid" && status !== "timeout") return null
  return digits ? { is: "digits", leg, digits } : { is: "ask_over", leg }
}

/** A recording, named by its leg: Telnyx does not say the recording's own name here. */
function recorded(leg: LegNamed, payload: Payload): VoiceEvent | null {
  const { client_state, call_leg_id: audioRef } = payload
  const { recording_started_at: from, recording_ended_at: to } = payload
  const kind = stateIn(client_state)?.mark
  if ((kind !== "call" && kind !== "voicemail") || !audioRef) return null
  const ms = Date.parse(to ?? "") - Date.parse(from ?? "")
  if (Number.isNaN(ms)) return null
  return {
    is: "audio_ready",
    leg,
    kind,
    seconds: Math.max(0, Math.round(ms / 1_000)),
    carrierRef: audioRef,
  }
}
