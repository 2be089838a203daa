/**
 * Telnyx as the carrier of calls (call control, API v2). A command of the same id is one command there, and
 * everything that becomes of one is said by webhooks. It does not say again when a leg was opened.
 */
import { z } from "zod"
import { ProviderSilent, ProviderUnavailable } from "../outside.ts"
import type { Refused } from "../telnyx/client.ts"
import { openTelnyx } from "../telnyx/client.ts"
import { openTelnyxReader } from "../telnyx/signed.ts"
import type { CallsBack, Voice, VoiceAnswer } from "./port.ts"
import { telnyxAudio } from "./telnyx-audio.ts"
import { callOf, callPath } from "./telnyx-commands.ts"
import { eventIn } from "./telnyx-events.ts"

/** A leg that is no more: it ended, or was never there. */
const ENDED: ReadonlySet<string | null> = new Set(["90015", "90018", "10005"])
/** A key that is wrong or may not do it: nothing was done, and a better one can. */
const NOT_LET = 401

const time = z.iso.datetime({ offset: true }).nullish()
const Leg = z.object({ data: z.object({ is_alive: z.boolean(), end_time: time }) })
const Dialled = z.object({ data: z.object({ call_control_id: z.string() }) })

/** How Telnyx is reached, and reaches us. */
export interface TelnyxVoiceSettings {
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
