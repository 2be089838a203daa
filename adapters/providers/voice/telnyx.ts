/**
 * Telnyx as the carrier of calls (call control, API v2). A command of the same id is one command there, and
 * everything that becomes of one is said by webhooks. It does not say again when a leg was opened.
 */
import { z } from "zod"
import { ProviderOutcomeUnknown, ProviderUnavailable } from "../provider-errors.ts"
import type { TelnyxRefusal } from "../telnyx/client.ts"
import { openTelnyxClient } from "../telnyx/client.ts"
import { openTelnyxWebhookReader } from "../telnyx/webhook-signature.ts"
import type { VoiceWebhooks, VoiceCarrier, VoiceAnswer, LegIdentity, VoiceEvent } from "./port.ts"
import { openTelnyxRecordings } from "./telnyx-recordings.ts"
import { telnyxRequestFor, legPath, parseClientState } from "./telnyx-commands.ts"

/** A leg that is no more: it ended, or was never there. */
const ENDED_CODES: ReadonlySet<string | null> = new Set(["90015", "90018", "10005"])
/** A key that is wrong or may not do it: nothing was done, and a better one can. */
const UNAUTHORIZED = 401

const time = z.iso.datetime({ offset: true }).nullish()
const LegResponse = z.object({ data: z.object({ is_alive: z.boolean(), end_time: time }) })
const DialResponse = z.object({ data: z.object({ call_control_id: z.string() }) })

/** How Telnyx is reached, and reaches us. */
interface TelnyxVoiceSettings {
  readonly key: string
  /** The account's, in base64: what it calls back is signed by it. */
  readonly publicKey: string
  /** With the version in its path. */
  readonly url: string
  /** The Call Control application that our legs belong to. */
  readonly connectionId: string
  readonly warn: (message: string, detail: object) => void
}

/**
 * Opens the adapter. It calls nobody before it is told something; its calls throw ProviderUnavailable,
 * ProviderOutcomeUnknown and RecordingNotFound as the port says.
 */
export function openTelnyxVoice(settings: TelnyxVoiceSettings): VoiceCarrier & VoiceWebhooks {
  const { key, publicKey, url, connectionId, warn } = settings
  const telnyx = openTelnyxClient({ key, url })
  const { downloadRecording, deleteRecording } = openTelnyxRecordings(
    telnyx,
    url.startsWith("http://127.0.0.1"),
  )
  const signedIn = openTelnyxWebhookReader(publicKey)
  return {
    downloadRecording,
    deleteRecording,
    execute: async (command, commandId) => {
      const call = telnyxRequestFor(command, commandId, connectionId)
      const { word, leg } = command
      if (call === null) {
        // What has no name was not called, or says its name when it is open, and is hung up then.
        if (word === "hang_up") return { outcome: "done", ref: null }
        throw new ProviderUnavailable("Telnyx has not said yet what it calls a leg")
      }
      const answer = await telnyx.request(call)
      if (answer.outcome === "refused") return toGoneAnswer(answer, word, warn)
      return { outcome: "done", ref: word === "dial" ? parseCallControlId(answer.value) : leg.ref }
    },
    checkLegStatus: async (ref) => {
      const answer = await telnyx.request({ method: "GET", path: legPath(ref) })
      if (answer.outcome === "refused") {
        if (!isEnded(answer)) throw new ProviderUnavailable(`Telnyx answered ${answer.status}`)
        return { isAlive: false, answeredAt: null, endedAt: null }
      }
      const read = LegResponse.safeParse(answer.value)
      if (!read.success) throw new ProviderOutcomeUnknown("Telnyx answered what nobody can read")
      const { is_alive: isAlive, end_time: endTime } = read.data.data
      // A leg that rings is not alive there either; one that is over has an end.
      const endedAt = !isAlive && endTime ? Date.parse(endTime) : null
      return { isAlive: endedAt === null, answeredAt: null, endedAt }
    },
    readWebhook: (call, now) => {
      const signed = signedIn(call, now)
      if (signed === null) return null
      const told = parseVoiceEvent(signed.body)
      return { signedAt: signed.signedAt, events: told === null ? [] : [told] }
    },
    rejectCall: async (ref) => {
      const body = { cause: "CALL_REJECTED", command_id: `nobody:${ref}`.slice(0, 255) }
      await telnyx.request({ method: "POST", path: `${legPath(ref)}/actions/reject`, body })
    },
  }
}

const isEnded = ({ status, code }: TelnyxRefusal) => status === 404 || ENDED_CODES.has(code)

/**
 * What a refusal comes to: the leg is gone. So it is where Telnyx would not call a number at all; whether a
 * caller's is gone it is asked.
 */
function toGoneAnswer(
  answer: TelnyxRefusal,
  word: string,
  warn: TelnyxVoiceSettings["warn"],
): Extract<VoiceAnswer, { readonly outcome: "gone" }> {
  const { status, code } = answer
  if (status === UNAUTHORIZED) throw new ProviderUnavailable("Telnyx does not take the key")
  if (!isEnded(answer)) warn("Telnyx refused a command", { word, status, code })
  return { outcome: "gone" }
}

function parseCallControlId(value: unknown): string {
  const read = DialResponse.safeParse(value)
  if (!read.success) throw new ProviderOutcomeUnknown("Telnyx answered what nobody can read")
  return read.data.data.call_control_id
}

const optionalText = z.string().nullish()
const VoiceWebhookBody = z.object({
  data: z.object({
    id: z.string().min(1).max(255),
    event_type: z.string(),
    /** Without it nobody knows when it was; minutes are counted by it. */
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

/** An event with Telnyx's own id of it. */
interface IdentifiedVoiceEvent {
  readonly id: string
  readonly event: VoiceEvent
}

/** What a body says; null where it says nothing that a call could use. */
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
      // What a question was asked with ends too: only what was said to be heard counts as heard.
      const isHeard = parseClientState(payload.client_state)?.mark === "say"
      return isHeard && payload.status !== "call_hangup" ? { type: "said", leg } : null
    }
    case "call.hangup":
      // When the leg was opened Telnyx said before, and does not say again.
      return { type: "leg_gone", leg, goneAt: at, answeredAt: null }
    case "call.recording.saved":
      return recordingEvent(leg, payload)
    // `call.bridged` and `call.recording.error` change nothing of a call: nothing waits for them.
    default:
      return null
  }
}

/** A call that came, or the name of a leg that we had called: its answer may have been lost. */
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

/** Which leg it is: by what went along with it, else by its own name and the number that was called. */
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

/** Which key was pressed; a key that was not asked for is one too. */
function digitsEvent(leg: LegIdentity, { digits, status }: Payload): VoiceEvent | null {
  if (status !== "valid" && status !== "invalid" && status !== "timeout") return null
  return digits ? { type: "digits", leg, digits } : { type: "ask_over", leg }
}

/** A recording, named by its leg: Telnyx does not say the recording's own name here. */
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
