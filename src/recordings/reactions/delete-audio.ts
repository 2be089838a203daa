/** What follows from a deletion, whoever asked for it: the blob goes, and the carrier forgets what it has. */
import { z } from "zod"
import { inTime, isOutside } from "../../../adapters/providers/outside.ts"
import type { CompanyId } from "../../../domain/kernel/ids.ts"
import type { CallId, AudioKind } from "../../../domain/recordings/recording-events.ts"
import { parseCallId, AUDIO_KINDS } from "../../../domain/recordings/recording-events.ts"
import { callStreamOf } from "../../../domain/voice/aggregates.ts"
import { retryLater } from "../../frame/effects/back-off.ts"
import { reaction } from "../../frame/effects/reaction.ts"
import { idSchema } from "../../frame/kernel/schema.ts"
import type { Ports } from "../../frame/ports.ts"
import { CARRIER, SILENT, blobOf } from "../keep-audio.ts"

/** Deletes both. What is not there: nothing. */
export const deleteAudio = reaction({
  kind: "delete-recording",
  payload: z.object({ callId: idSchema(parseCallId), kind: z.enum(AUDIO_KINDS) }),
  from: {
    RecordingDeleted: ({ at, callId, kind }) => [
      { name: `${callId}:${kind}`, payload: { callId, kind }, dueAt: at },
    ],
  },
  giveUp: "owed",
  perform: async (ports, work) => {
    const { companyId, payload } = work
    const { callId, kind } = payload
    await ports.blobs.delete(companyId, blobOf(callId, kind))
    const audioRef = await refOf(ports, companyId, callId, kind)
    if (audioRef === null) return { result: "done" }
    try {
      await inTime(ports.pacer, CARRIER, ports.voice.forgetAudio(audioRef))
      return { result: "done" }
    } catch (error) {
      if (!isOutside(error)) throw error
      return retryLater(work, SILENT)
    }
  },
})

/** What the carrier calls it; null where it never had any. */
function refOf(
  { runner }: Pick<Ports, "runner">,
  companyId: CompanyId,
  callId: CallId,
  kind: AudioKind,
): Promise<string | null> {
  return runner.readLatest(
    callStreamOf(companyId, callId),
    ({ call }) => call?.audio[kind]?.carrierRef ?? null,
  )
}
