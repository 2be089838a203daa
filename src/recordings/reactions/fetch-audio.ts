/** What follows from a recording that the carrier has: it is brought here, and forgotten there. */
import { z } from "zod"
import { inTime, isOutside } from "../../../adapters/providers/outside.ts"
import { AudioGone } from "../../../adapters/providers/voice/port.ts"
import { parseCallId, AUDIO_KINDS } from "../../../domain/recordings/recording-events.ts"
import { callStreamOf } from "../../../domain/voice/aggregates.ts"
import { retryLater } from "../../frame/effects/back-off.ts"
import { reaction } from "../../frame/effects/reaction.ts"
import { causedBy } from "../../frame/kernel/envelope.ts"
import { idSchema } from "../../frame/kernel/schema.ts"
import { CARRIER, SILENT, keepAudio } from "../keep-audio.ts"

/** Four hours of MP3 over a slow line. */
const FETCHED_WITHIN_MS = 10 * 60_000

/** Keeps it. */
export const fetchAudio = reaction({
  kind: "store-recording",
  payload: z.object({
    callId: idSchema(parseCallId),
    kind: z.enum(AUDIO_KINDS),
    seconds: z.int(),
    carrierRef: z.string(),
  }),
  from: {
    RecordingAvailable: ({ at, callId, kind, seconds, carrierRef }) => [
      { name: `${callId}:${kind}`, payload: { callId, kind, seconds, carrierRef }, dueAt: at },
    ],
  },
  isLong: true,
  // What the carrier no longer has is lost already.
  giveUp: "nothing is lost",
  perform: async (ports, work) => {
    const { companyId, name, payload } = work
    const { voice, pacer, runner } = ports
    const offered = await runner.readLatest(
      callStreamOf(companyId, payload.callId),
      ({ call }) => call?.offered ?? null,
    )
    if (offered === null) throw new Error(`${payload.callId} is no call`)
    const { at: calledAt, callerTag: subject } = offered
    const saved = { companyId, ...payload, calledAt, subject }
    const cause = causedBy(`store-recording ${name}`)
    try {
      await inTime(pacer, CARRIER, keepAudio(ports, saved, voice, cause), FETCHED_WITHIN_MS)
      return { result: "done" }
    } catch (error) {
      if (error instanceof AudioGone) {
        ports.log.warn(`the carrier lost the audio of ${name}, which nobody can hear now`, error)
        return { result: "done" }
      }
      if (!isOutside(error)) throw error
      return retryLater(work, SILENT)
    }
  },
})
