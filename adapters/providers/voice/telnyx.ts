/**
 * Telnyx as the carrier of calls (call control, API v2). A command of the same id is one command there, and
 * everything that becomes of one is said by webhooks. It does not say again when a leg was opened.
 */
import { z } from "zod"
import { ProviderSilent, ProviderUnavailable } from "../outside.ts"
import type { Refused } from "../telnyx/client.ts"
import { openTelnyx } from "../telnyx/client.ts"
import { openTelnyxReader } from "../telnyx/signed.ts"
import type { CallsBack, Voice, VoiceAnswer, LegNamed, VoiceEvent } from "./port.ts"
import { telnyxAudio } from "./telnyx-audio.ts"
import { callOf, callPath, stateIn } from "./telnyx-commands.ts"

/** A leg that is no more: it ended, or was never there. */
const ENDED: ReadonlySet<string | null> = new Set(["90015", "90018", "10005"])
/** A key that is wrong or may not do it: nothing was done, and a better one can. */
const NOT_LET = 401

const time = z.iso.datetime({ offset: true }).nullish()
const Leg = z.object({ data: z.object({ is_alive: z.boolean(), end_time: time }) })
const Dialled = z.object({ data: z.object({ call_control_id: z.string() }) })

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
 * ProviderSilent and AudioGone as the port says.
 */
export function openTelnyxVoice(settings: TelnyxVoiceSettings): Voice & CallsBack {
  const { key, publicKey, url, connectionId, warn } = settings
  const telnyx = openTelnyx({ key, url })
  const { audio, forget } = telnyxAudio(telnyx, url.startsWith("http://127.0.0.1"))
  const signedIn = openTelnyxReader(publicKey)
  return {
    audio,
    forgetAudio: forget,
    do: async (command, commandId) => {
      const call = callOf(command, commandId, connectionId)
      const { word, leg } = command
      if (call === null) {
        // What has no name was not called, or says its name when it is open, and is hung up then.
        if (word === "hang_up") return { is: "done", ref: null }
        throw new ProviderUnavailable("Telnyx has not said yet what it calls a leg")
      }
      const answer = await telnyx.ask(call)
      if (answer.is === "refused") return refused(answer, word, warn)
      return { is: "done", ref: word === "dial" ? nameIn(answer.value) : leg.ref }
    },
    askCall: async (ref) => {
      const answer = await telnyx.ask({ method: "GET", path: callPath(ref) })
      if (answer.is === "refused") {
        if (!isEnded(answer)) throw new ProviderUnavailable(`Telnyx answered ${answer.status}`)
        return { isAlive: false, answeredAt: null, endedAt: null }
      }
      const read = Leg.safeParse(answer.value)
      if (!read.success) throw new ProviderSilent("Telnyx answered what nobody can read")
      const { is_alive: isAlive, end_time: endTime } = read.data.data
      // A leg that rings is not alive there either; one that is over has an end.
      const endedAt = !isAlive && endTime ? Date.parse(endTime) : null
      return { isAlive: endedAt === null, answeredAt: null, endedAt }
    },
    read: (call, now) => {
      const signed = signedIn(call, now)
      if (signed === null) return null
      const told = eventIn(signed.said)
      return { signedAt: signed.signedAt, events: told === null ? [] : [told] }
    },
    turnAway: async (ref) => {
      const body = { cause: "CALL_REJECTED", command_id: `nobody:${ref}`.slice(0, 255) }
      await telnyx.ask({ method: "POST", path: `${callPath(ref)}/actions/reject`, body })
    },
  }
}

const isEnded = ({ status, code }: Refused) => status === 404 || ENDED.has(code)

/**
 * What a refusal comes to: the leg is gone. So it is where Telnyx would not call a number at all; whether a
 * caller's is gone it is asked.
 */
function refused(
  answer: Refused,
  word: string,
  warn: TelnyxVoiceSettings["warn"],
): Extract<VoiceAnswer, { readonly is: "gone" }> {
  const { status, code } = answer
  if (status === NOT_LET) throw new ProviderUnavailable("Telnyx does not take the key")
  if (!isEnded(answer)) warn("Telnyx refused a command", { word, status, code })
  return { is: "gone" }
}

function nameIn(value: unknown): string {
  const read = Dialled.safeParse(value)
  if (!read.success) throw new ProviderSilent("Telnyx answered what nobody can read")
  return read.data.data.call_control_id
}

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
interface ToldOfCall {
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
