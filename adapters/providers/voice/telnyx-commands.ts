/** Maps the eight voice commands to Telnyx's call control (API v2). */
import type { TelnyxRequest } from "../telnyx/client.ts"
import type { VoiceCommand, VoiceLeg } from "./port.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { createIdParser, parseCompanyId } from "../../../domain/kernel/ids.ts"
import type { AudioKind } from "../../../domain/kernel/calls.ts"
import type { CallId } from "../../../domain/kernel/calls.ts"

/** A voice that needs no account elsewhere, and its language. */
const SPEECH_OPTIONS = { voice: "female", service_level: "basic", language: "en-US" } as const
/** Telnyx's shortest ringing time. */
const MIN_RING_SECONDS = 5
/** Telnyx's longest leg and recording: four hours. */
const MAX_LEG_SECONDS = 14_400

/** The path of a leg. */
export const legPath = (ref: string): string => `/calls/${encodeURIComponent(ref)}`

/**
 * The request for a command; null if a leg that it needs has no reference yet.
 *
 * @param connectionId the Call Control application that our legs belong to
 */
export function telnyxRequestFor(
  command: VoiceCommand,
  commandId: string,
  connectionId: string,
): TelnyxRequest | null {
  const { leg } = command
  const commandFields = { command_id: commandId }
  const withState = (mark: LegMark) => ({
    ...commandFields,
    client_state: encodeClientState({ ...leg, mark }),
  })
  switch (command.word) {
    case "answer":
      return legAction(leg, "answer", withState(""))
    case "reject":
      return legAction(leg, "reject", { ...commandFields, cause: "USER_BUSY" })
    case "hang_up":
      return legAction(leg, "hangup", commandFields)
    case "dial": {
      const { caller, from, to, ringSeconds } = command
      if (caller.ref === null) return null
      const body = {
        from,
        to,
        connection_id: connectionId,
        link_to: caller.ref,
        ...withState(""),
        timeout_secs: Math.max(MIN_RING_SECONDS, ringSeconds),
        retry_on_timeout: false,
        time_limit_secs: MAX_LEG_SECONDS,
      }
      return { method: "POST", path: "/calls", body }
    }
    case "ask": {
      const { text, waitSeconds } = command
      // Other keys than 1 are reported as invalid, and the call handles them.
      return legAction(leg, "gather_using_speak", {
        payload: text,
        ...SPEECH_OPTIONS,
        ...withState(""),
        valid_digits: "1",
        minimum_digits: 1,
        maximum_digits: 1,
        maximum_tries: 1,
        timeout_millis: waitSeconds * 1_000,
      })
    }
    case "say":
      return legAction(leg, "speak", {
        payload: command.text,
        ...SPEECH_OPTIONS,
        ...withState("say"),
      })
    case "join":
      if (command.other.ref === null) return null
      return legAction(leg, "bridge", { ...commandFields, call_control_id: command.other.ref })
    case "record": {
      const { kind, mostSeconds } = command
      return legAction(leg, "record_start", {
        format: "mp3",
        channels: "single",
        play_beep: kind === "voicemail",
        max_length: Math.min(MAX_LEG_SECONDS, mostSeconds),
        ...withState(kind),
      })
    }
  }
}

function legAction({ ref }: VoiceLeg, name: string, body: object): TelnyxRequest | null {
  if (ref === null) return null
  return { method: "POST", path: `${legPath(ref)}/actions/${name}`, body }
}

// Telnyx returns the `client_state` of a leg with its events: the leg's ids and the last command.
// Events may precede the answer that contains the leg's reference, and speech and recording events
// carry no other identification.

const parseCallId = createIdParser("call_")
const LEG_NUMBER = /^[0-5]$/

/** The last command, where events depend on it. */
type LegMark = "" | "say" | AudioKind

/** The `client_state` of a leg. */
interface ClientState {
  readonly companyId: CompanyId
  readonly callId: CallId
  /** 0 is the caller's leg. */
  readonly leg: number
  readonly mark: LegMark
}

/** Encodes it as base64. */
export function encodeClientState({ companyId, callId, leg, mark }: ClientState): string {
  return Buffer.from(`${companyId}:${callId}:${leg}:${mark}`).toString("base64")
}

/** Decodes it; null if it is not ours. */
export function parseClientState(text: string | null | undefined): ClientState | null {
  if (text === null || text === undefined) return null
  const parts = Buffer.from(text, "base64").toString().split(":")
  const [company = "", call = "", leg = "", mark = "", ...others] = parts
  const [companyId, callId] = [parseCompanyId(company), parseCallId(call)]
  if (companyId === null || callId === null || !LEG_NUMBER.test(leg) || others.length > 0)
    return null
  return isLegMark(mark) ? { companyId, callId, leg: Number(leg), mark } : null
}

const isLegMark = (text: string): text is LegMark =>
  text === "" || text === "say" || text === "call" || text === "voicemail"
