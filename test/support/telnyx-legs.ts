/** What a stand-in of Telnyx remembers of legs, and the events that it says of them, in the shapes of its documents. */
import { randomUUID } from "node:crypto"

/** A leg at the stand-in. */
export interface TelnyxLeg {
  /** Its `call_control_id`. */
  readonly ref: string
  /** Its `call_leg_id`. */
  readonly legId: string
  readonly direction: "incoming" | "outgoing"
  readonly from: string
  readonly to: string
  /** The leg that it was called for; null for a caller's. */
  readonly linkedTo: TelnyxLeg | null
  state: "ringing" | "open" | "gone"
  clientState: string | null
  endedAt: number | null
  isGathering: boolean
  /** How many things are being said. */
  saying: number
  bridgedTo: TelnyxLeg | null
  recordingSince: number | null
}

/** A recording at the stand-in. */
export interface TelnyxRecording {
  readonly id: string
  readonly legId: string
  readonly seconds: number
}

/** An event as it is to be called back. */
export interface TelnyxEvent {
  readonly type: string
  readonly leg: TelnyxLeg
  readonly raw: string
}

/** A leg that rings. */
export function newTelnyxLeg(
  direction: TelnyxLeg["direction"],
  from: string,
  to: string,
  linkedTo: TelnyxLeg | null = null,
): TelnyxLeg {
  return {
    ref: `v3:${randomUUID()}`,
    legId: randomUUID(),
    direction,
    from,
    to,
    state: "ringing",
    clientState: null,
    endedAt: null,
    isGathering: false,
    saying: 0,
    bridgedTo: null,
    recordingSince: null,
    linkedTo,
  }
}

/** An event of a leg. Those of words and of recordings say no number, and a recording's no name of the leg. */
export function telnyxEvent(
  type: string,
  leg: TelnyxLeg,
  at: number,
  others: object = {},
): TelnyxEvent {
  const { ref, legId, clientState, direction, from, to } = leg
  const numbers =
    type === "call.speak.ended" || type.startsWith("call.recording") ? {} : { from, to }
  const name = type.startsWith("call.recording") ? {} : { call_control_id: ref }
  const payload = {
    ...name,
    call_leg_id: legId,
    call_session_id: legId,
    connection_id: "1684641123236054244",
    ...(type === "call.initiated" ? { direction } : {}),
    ...(clientState === null ? {} : { client_state: clientState }),
    ...numbers,
    ...others,
  }
  const data = { record_type: "event", event_type: type, id: randomUUID() }
  const occurred = { occurred_at: new Date(at).toISOString(), payload }
  return {
    type,
    leg,
    raw: JSON.stringify({ data: { ...data, ...occurred }, meta: { attempt: 1 } }),
  }
}

/** Ends a leg with all that hangs on it; what is said of that, in order. */
export function endTelnyxLeg(
  leg: TelnyxLeg,
  now: number,
  keep: (recording: TelnyxRecording) => void,
): readonly TelnyxEvent[] {
  if (leg.state === "gone") return []
  const told: TelnyxEvent[] = []
  if (leg.saying > 0)
    told.push(telnyxEvent("call.speak.ended", leg, now, { status: "call_hangup" }))
  if (leg.isGathering) {
    told.push(telnyxEvent("call.gather.ended", leg, now, { digits: "", status: "call_hangup" }))
  }
  Object.assign(leg, { state: "gone", endedAt: now, saying: 0, isGathering: false })
  told.push(telnyxEvent("call.hangup", leg, now, { hangup_cause: "normal_clearing" }))
  if (leg.recordingSince !== null) {
    const seconds = Math.round((now - leg.recordingSince) / 1_000)
    keep({ id: randomUUID(), legId: leg.legId, seconds })
    told.push(
      telnyxEvent("call.recording.saved", leg, now, {
        channels: "single",
        recording_urls: { mp3: "https://example.com/old.mp3" },
        recording_started_at: new Date(leg.recordingSince).toISOString(),
        recording_ended_at: new Date(now).toISOString(),
      }),
    )
  }
  // Whoever is left of a bridge is hung up.
  const other = leg.bridgedTo
  return other === null ? told : [...told, ...endTelnyxLeg(other, now, keep)]
}
