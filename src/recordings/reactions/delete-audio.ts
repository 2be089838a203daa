/** What follows from a deletion, whoever asked for it: the blob goes. */
import { z } from "zod"
import { parseCallId } from "../../../domain/recordings/ids.ts"
import { AUDIO_KINDS } from "../../../domain/recordings/recording-events.ts"
import { reaction } from "../../frame/effects/reaction.ts"
import { idSchema } from "../../frame/kernel/id-schemas.ts"
import { blobOf } from "../keep-audio.ts"

/** Deletes the blob. One that is not there: nothing. */
export const deleteAudio = reaction({
  kind: "delete-audio",
  payload: z.object({ callId: idSchema(parseCallId), kind: z.enum(AUDIO_KINDS) }),
  from: {
    AudioDeleted: ({ at, callId, kind }) => [
      { name: `${callId}:${kind}`, payload: { callId, kind }, dueAt: at },
    ],
  },
  giveUp: "owed",
  perform: async ({ blobs }, { companyId, payload: { callId, kind } }) => {
    await blobs.delete(companyId, blobOf(callId, kind))
    return { result: "done" }
  },
})
