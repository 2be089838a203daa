/**
 * Telnyx as the voice carrier (call control, API v2). Commands are idempotent by their id, and
 * webhooks report their effects. Telnyx's status of a leg does not include when it was answered.
 */
import { z } from "zod"
import { ProviderOutcomeUnknown, ProviderUnavailable } from "../provider-errors.ts"
import type { TelnyxRefusal } from "../telnyx/client.ts"
import { openTelnyxClient } from "../telnyx/client.ts"
import { openTelnyxWebhookReader } from "../telnyx/webhook-signature.ts"
import type { VoiceWebhooks, VoiceCarrier, VoiceAnswer, LegIdentity, VoiceEvent } from "./port.ts"
import { openTelnyxRecordings } from "./telnyx-recordings.ts"
import { telnyxRequestFor, legPath, parseClientState } from "./telnyx-commands.ts"

/** The leg ended or never existed. */
const ENDED_CODES: ReadonlySet<string | null> = new Set(["90015", "90018", "10005"])
/** The key is wrong or lacks the permission: nothing was done, and another key may work. */
const UNAUTHORIZED = 401

const time = z.iso.datetime({ offset: true }).nullish()
const LegResponse = z.object({ data: z.object({ is_alive: z.boolean(), end_time: time }) })
const DialResponse = z.object({ data: z.object({ call_control_id: z.string() }) })

/** The addresses and keys of both directions. */
interface TelnyxVoiceSettings {
  readonly key: string
  /** The account's public key, in base64; it verifies webhooks. */
  readonly publicKey: string
  /** With the version in its path. */
  readonly url: string
  /** The Call Control application that our legs belong to. */
  readonly connectionId: string
  readonly warn: (message: string, detail: object) => void
}

/**
 * Opens the adapter; it connects for the first command. Its calls throw ProviderUnavailable,
 * ProviderOutcomeUnknown and RecordingNotFound as the port says.
 */
export function openTelnyxVoice(settings: TelnyxVoiceSettings): VoiceCarrier & VoiceWebhooks {
  const { key, publicKey, url, connectionId, warn } = settings
  const telnyx = openTelnyxClient({ key, url })
  const { downloadRecording, deleteRecording } = openTelnyxRecordings(
    telnyx,
    url.startsWith("http://127.0.0.1"),
  )
  const readSigned = openTelnyxWebhookReader(publicKey)
  return {
    downloadRecording,
    deleteRecording,
    execute: async (command, commandId) => {
      const call = telnyxRequestFor(command, commandId, connectionId)
      const { word, leg } = command
      if (call === null) {
        // A leg without a reference was not dialed, or reports its reference when it is answered,
        // and is hung up then.
        if (word === "hang_up") return { outcome: "done", ref: null }
        throw new ProviderUnavailable("Telnyx has not reported the leg's reference yet")
      }
      const answer = await telnyx.request(call)
      if (answer.outcome === "refused") return toGoneAnswer(answer, word, warn)
      return { outcome: "done", ref: word === "dial" ? parseCallControlId(answer.value) : leg.ref }
    },
    checkLegStatus: async (ref) => {
      const answer = await telnyx.request({ method: "GET", path: legPath(ref) })
      if (answer.outcome === "refused") {
        if (!isEnded(answer))
          throw new ProviderUnavailable(`Telnyx answered ${answer.status} to the request for a leg`)
        return { isAlive: false, answeredAt: null, endedAt: null }
      }
      const read = LegResponse.safeParse(answer.value)
      if (!read.success)
        throw new ProviderOutcomeUnknown("Telnyx's status of a leg does not have the expected form")
      const { is_alive: isAlive, end_time: endTime } = read.data.data
      // Telnyx reports ringing legs as not alive, too; only an ended one has an end time.
      const endedAt = !isAlive && endTime ? Date.parse(endTime) : null
      return { isAlive: endedAt === null, answeredAt: null, endedAt }
    },
    readWebhook: (call, now) => {
      const signed = readSigned(call, now)
      if (signed === null) return null
      const identified = parseVoiceEvent(signed.body)
      return { signedAt: signed.signedAt, events: identified === null ? [] : [identified] }
    },
    rejectCall: async (ref) => {
      const body = { cause: "CALL_REJECTED", command_id: `unowned:${ref}`.slice(0, 255) }
      await telnyx.request({ method: "POST", path: `${legPath(ref)}/actions/reject`, body })
    },
  }
}

const isEnded = ({ status, code }: TelnyxRefusal) => status === 404 || ENDED_CODES.has(code)

/**
 * Maps a refusal to `gone`: the leg has ended, or Telnyx does not dial the number. The status of a
 * caller's leg is checked separately.
 */
function toGoneAnswer(
  answer: TelnyxRefusal,
  word: string,
  warn: TelnyxVoiceSettings["warn"],
): Extract<VoiceAnswer, { readonly outcome: "gone" }> {
  const { status, code } = answer
  if (status === UNAUTHORIZED) throw new ProviderUnavailable("Telnyx rejected the API key")
  if (!isEnded(answer)) warn("Telnyx rejected a voice command", { word, status, code })
  return { outcome: "gone" }
}

function parseCallControlId(value: unknown): string {
  const read = DialResponse.safeParse(value)
  if (!read.success)
    throw new ProviderOutcomeUnknown(
      "Telnyx's answer to a dial command does not have the expected form",
    )
  return read.data.data.call_control_id
}

const optionalText = z.string().nullish()
const VoiceWebhookBody = z.object({
  data: z.object({
    id: z.string().min(1).max(255),
    event_type: z.string(),
    /** Billed minutes are counted from this time. */
    occurred_at: z.iso.datetime({ offset: true }),
    payload: z.object({
      call_control_id: optionalText,
      call_leg_id: optionalText,
      client_state: optionalText,
      direction: optionalText,
      from: optionalText,
      to: optionalText,
      digit: optionalText,
      digits: optionalText,
      status: optionalText,
      shaken_stir_attestation: optionalText,
      start_time: optionalText,
      recording_started_at: optionalText,
      recording_ended_at: optionalText,
    }),
  }),
})

type Payload = z.infer<typeof VoiceWebhookBody>["data"]["payload"]

/** An event with Telnyx's id of it. */
interface IdentifiedVoiceEvent {
  readonly id: string
  readonly event: VoiceEvent
}

/** Parses a webhook's body; null if it concerns no call. */
export function parseVoiceEvent(body: unknown): IdentifiedVoiceEvent | null {
  const read = VoiceWebhookBody.safeParse(body)
  if (!read.success) return null
  const { id, event_type: type, occurred_at: occurredAt, payload } = read.data.data
  const event = toVoiceEvent(type, payload, Date.parse(occurredAt))
  return event === null ? null : { id, event }
}

function toVoiceEvent(type: string, payload: Payload, at: number): VoiceEvent | null {
  if (type === "call.initiated") return callInitiatedEvent(payload, at)
  const leg = legIdentityFrom(payload)
  if (leg === null) return null
  switch (type) {
    case "call.answered":
      return { type: "leg_open", leg, answeredAt: at }
    case "call.dtmf.received":
      return payload.digit ? { type: "digits", leg, digits: payload.digit } : null
    case "call.gather.ended":
      return digitsEvent(leg, payload)
    case "call.speak.ended": {
      // The text of a question ends, too; only the end of a `say` counts.
      const isHeard = parseClientState(payload.client_state)?.mark === "say"
      return isHeard && payload.status !== "call_hangup" ? { type: "said", leg } : null
    }
    case "call.hangup":
      // An earlier event reported when the leg was answered.
      return { type: "leg_gone", leg, goneAt: at, answeredAt: null }
    case "call.recording.saved":
      return recordingEvent(leg, payload)
    // `call.bridged` and `call.recording.error` change no call state.
    default:
      return null
  }
}

/** An incoming call, or the reference of a dialed leg, whose answer may have been lost. */
function callInitiatedEvent(payload: Payload, at: number): VoiceEvent | null {
  const { direction, call_control_id: ref, from, to, shaken_stir_attestation: shaken } = payload
  if (!ref) return null
  if (direction === "outgoing") {
    const leg = legIdentityFrom(payload)
    return leg === null ? null : { type: "leg_placed", leg, ref }
  }
  if (direction !== "incoming" || !to) return null
  const attestation = shaken === "A" || shaken === "B" || shaken === "C" ? shaken : null
  return { type: "call_came", ref, from: from ?? "", to, startedAt: at, attestation }
}

/** Identifies the leg by its `client_state`, otherwise by its reference and the dialed number. */
function legIdentityFrom({
  client_state,
  call_control_id,
  direction,
  to,
}: Payload): LegIdentity | null {
  const state = parseClientState(client_state)
  const ref = call_control_id ?? null
  if (state !== null) {
    const { companyId, callId, leg } = state
    return { kind: "leg", companyId, callId, leg, ref }
  }
  if (ref === null || !to || direction === "outgoing") return null
  return { kind: "caller", ref, to }
}

/** The pressed key, also one that was not asked for. */
function digitsEvent(leg: LegIdentity, { digits, status }: Payload): VoiceEvent | null {
  if (status !== "valid" && status !== "invalid" && status !== "timeout") return null
  return digits ? { type: "digits", leg, digits } : { type: "ask_over", leg }
}

function recordingEvent(leg: LegIdentity, payload: Payload): VoiceEvent | null {
  const { client_state, call_leg_id: audioRef } = payload
  const { recording_started_at: from, recording_ended_at: to } = payload
  const kind = parseClientState(client_state)?.mark
  if ((kind !== "call" && kind !== "voicemail") || !audioRef) return null
  const ms = Date.parse(to ?? "") - Date.parse(from ?? "")
  if (Number.isNaN(ms)) return null
  return {
    type: "audio_ready",
    leg,
    kind,
    seconds: Math.max(0, Math.round(ms / 1_000)),
    carrierRef: audioRef,
  }
}
