/** The audio of one call, as a path names it. */
import { z } from "zod"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import type { CallId, AudioKind } from "../../domain/recordings/recording-events.ts"
import { AUDIO_KINDS } from "../../domain/recordings/recording-events.ts"
import { callStreamOf } from "../../domain/voice/aggregates.ts"
import type { Refusal } from "../frame/routes/answers/refusal.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import { shortText } from "../frame/kernel/schema.ts"
import type { Ports } from "../frame/ports.ts"

/** A day. */
export const DAY_MS = 86_400_000

/** A day as `2026-11-25`. */
export const dayText = (day: number): string => new Date(day).toISOString().slice(0, 10)

/** Where it is. */
export const URL_OF_CALL = "/api/v1/phone/recordings/:callId"

/** Names a call. */
export const OfCall = z.object({ callId: shortText(100).describe("Id of the call") })

/** What is said of a call that is not there. */
export const NO_CALL = "There is no such call."

/** The refusal of a call that is not there. */
export const noCall = (): Refusal => refusal("not_found", NO_CALL)

/** A call, as far as its audio goes. */
interface CallWithAudio {
  /** Of what the carrier has, or had, something that can be heard. */
  readonly saved: readonly AudioKind[]
  /** When the call began, UTC milliseconds. */
  readonly calledAt: number
}

/** The company's call of this id; null where it has none. */
export function callWithAudio(
  { runner }: Pick<Ports, "runner">,
  companyId: CompanyId,
  callId: CallId,
): Promise<CallWithAudio | null> {
  return runner.readLatest(callStreamOf(companyId, callId), ({ call }) => {
    if (call === null) return null
    const { audio, offered } = call
    const saved = AUDIO_KINDS.filter((kind) => (audio[kind]?.seconds ?? 0) > 0)
    return { saved, calledAt: offered.at }
  })
}
