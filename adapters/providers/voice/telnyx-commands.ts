/** The eight words of the carrier of calls in Telnyx's call control (API v2). */
import type { TelnyxRequest } from "../telnyx/client.ts"
import type { VoiceCommand, VoiceLeg } from "./port.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import { createIdParser, parseCompanyId } from "../../../domain/kernel/ids.ts"
import type { AudioKind } from "../../../domain/voice/call-events.ts"
import type { CallId } from "../../../domain/voice/ids.ts"

/** A voice that Telnyx has without an account elsewhere, and its language. */
const SPEECH_OPTIONS = { voice: "female", service_level: "basic", language: "en-US" } as const
/** No number rings shorter than that at Telnyx. */
const MIN_RING_SECONDS = 5
/** The longest that Telnyx lets a leg be, and records: four hours. */
const MAX_LEG_SECONDS = 14_400

/** The address of a leg. */
export const legPath = (ref: string): string => `/calls/${encodeURIComponent(ref)}`

/**
 * What Telnyx is asked for a command; null where a leg that it needs has no name there yet.
 *
 * @param connectionId the Call Control application that our legs belong to
 */
export function telnyxRequestFor(
  command: VoiceCommand,
  commandId: string,
  connectionId: string,
): TelnyxRequest | null {
  const { leg } = command
  const named = { command_id: commandId }
  const marked = (mark: LegMark) => ({
    ...named,
    client_state: encodeClientState({ ...leg, mark }),
  })
  switch (command.word) {
    case "answer":
      return legAction(leg, "answer", marked(""))
    case "reject":
      return legAction(leg, "reject", { ...named, cause: "USER_BUSY" })
    case "hang_up":
      return legAction(leg, "hangup", named)
    case "dial": {
      const { caller, from, to, ringSeconds } = command
      if (caller.ref === null) return null
      const body = {
        from,
        to,
        connection_id: connectionId,
        link_to: caller.ref,
        ...marked(""),
        timeout_secs: Math.max(MIN_RING_SECONDS, ringSeconds),
        retry_on_timeout: false,
        time_limit_secs: MAX_LEG_SECONDS,
      }
      return { method: "POST", path: "/calls", body }
    }
    case "ask": {
      const { text, waitSeconds } = command
      // One key decides, and which it may be the call knows: what is no 1 comes as invalid.
      return legAction(leg, "gather_using_speak", {
        payload: text,
        ...SPEECH_OPTIONS,
        ...marked(""),
        valid_digits: "1",
        minimum_digits: 1,
        maximum_digits: 1,
        maximum_tries: 1,
        timeout_millis: waitSeconds * 1_000,
      })
    }
    case "say":
      return legAction(leg, "speak", { payload: command.text, ...SPEECH_OPTIONS, ...marked("say") })
    case "join":
      if (command.other.ref === null) return null
      return legAction(leg, "bridge", { ...named, call_control_id: command.other.ref })
    case "record": {
      const { kind, mostSeconds } = command
      return legAction(leg, "record_start", {
        format: "mp3",
        channels: "single",
        play_beep: kind === "voicemail",
        max_length: Math.min(MAX_LEG_SECONDS, mostSeconds),
        ...marked(kind),
      })
    }
  }
}

function legAction({ ref }: VoiceLeg, name: string, body: object): TelnyxRequest | null {
  if (ref === null) return null
  return { method: "POST", path: `${legPath(ref)}/actions/${name}`, body }
}

// What goes along with a leg at Telnyx and comes back in all that is said of it (`client_state`): whose call it
// is, and what the leg was told last. A leg's events may overtake the answer that names it, and what is
// said of words and of recordings names nothing else.

const parseCallId = createIdParser("call_")
const LEG_NUMBER = /^[0-5]$/

/** What a leg was told last, where that decides how something is read. */
type LegMark = "" | "say" | AudioKind

/** A leg, and what it was told. */
interface ClientState {
  readonly companyId: CompanyId
  readonly callId: CallId
  /** 0 is the caller's. */
  readonly leg: number
  readonly mark: LegMark
}

/** As it goes along, base64. */
export function encodeClientState({ companyId, callId, leg, mark }: ClientState): string {
  return Buffer.from(`${companyId}:${callId}:${leg}:${mark}`).toString("base64")
}

/** What came back; null where it is not ours. */
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
