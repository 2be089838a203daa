/** `DELETE /api/v1/phone/recordings/:callId`: deletes audio of a call for good; the call stays. */
import { z } from "zod"
import { recordingsOf } from "../../domain/recordings/aggregates.ts"
import { parseCallId, AUDIO_KINDS } from "../../domain/recordings/recording-events.ts"
import { causeOf } from "../frame/routes/call.ts"
import { route } from "../frame/routes/declare/route.ts"
import { blobOf } from "./keep-audio.ts"
import { NO_CALL, OfCall, URL_OF_CALL, callWithAudio, noCall } from "./of-call.ts"

/** The route. */
export const deleteRecording = route({
  name: "deleteRecording",
  method: "DELETE",
  url: URL_OF_CALL,
  group: "phone",
  summary: "Delete the recordings of a call",
  example: { params: { callId: "call_4Zb0x7" } },
  operation: "phone.recordings.delete",
  counted: true,
  params: OfCall,
  query: z.object({
    kind: z
      .enum([...AUDIO_KINDS, "both"])
      .default("both")
      .describe("What of it is deleted"),
  }),
  reply: z.object({
    deleted: z
      .int()
      .min(0)
      .max(2)
      .describe("How many were, also such as were still on their way; 0 for none"),
  }),
  refuses: ["not_found"],
  says: { not_found: NO_CALL },
  specGap: "The specification does not show the verb: DELETE. An unknown call is 404.",
  handle: async (ports, caller, { params, query: { kind } }) => {
    const { companyId } = caller
    const callId = parseCallId(params.callId)
    const call = callId === null ? null : await callWithAudio(ports, companyId, callId)
    if (callId === null || call === null) return { ok: false, refusal: noCall() }
    const kinds = kind === "both" ? AUDIO_KINDS : [kind]
    const command = { type: "DeleteAudio" as const, callId, kinds, ...call }
    const done = await ports.runner.execute(recordingsOf(companyId), command, causeOf(caller))
    if (!done.accepted) throw new Error(`a deletion was refused: ${done.refusal.code}`)
    for (const fact of done.facts) {
      // Also a row of work does so: nobody is told yes before it is gone, and no crash leaves it here.
      if (fact.type === "RecordingDeleted")
        await ports.blobs.delete(companyId, blobOf(callId, fact.kind))
    }
    return { ok: true, body: { deleted: done.facts.length }, position: done.position }
  },
})
