/**
 * `GET /api/v1/phone/recordings/:callId`: audio of a call, whole or a part. It is read from its blob
 * piece by piece and waits for no read model: what is kept can be heard at once.
 */
import { z } from "zod"
import type { Blob } from "../../adapters/postgres/blobs/port.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { recordingsOf } from "../../domain/recordings/aggregates.ts"
import type { AudioKind } from "../../domain/recordings/recording-events.ts"
import { parseCallId, AUDIO_KINDS } from "../../domain/recordings/recording-events.ts"
import { heldAudio } from "../../domain/recordings/recordings.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import { route } from "../frame/routes/declare/route.ts"
import type { Ports } from "../frame/ports.ts"
import { OfCall, URL_OF_CALL } from "./of-call.ts"

const NO_AUDIO = "There is no such recording."
/** It is somebody's voice: nobody on the way keeps it. */
const HEAD = { "cache-control": "private, no-store", "content-disposition": "inline" }

/** The route. */
export const recordingAudio = route({
  name: "getRecording",
  method: "GET",
  url: URL_OF_CALL,
  group: "phone",
  summary: "Listen to a recording",
  example: { params: { callId: "call_4Zb0x7" } },
  operation: "phone.recordings.read",
  counted: true,
  params: OfCall,
  query: z.object({
    kind: z
      .enum(AUDIO_KINDS)
      .default("call")
      .describe("`call` as it was spoken, or what was left as a `voicemail`"),
  }),
  files: ["audio/mpeg"],
  success: [200, 206],
  reply: z.string(),
  refuses: ["not_found", "range_not_satisfiable"],
  says: { not_found: NO_AUDIO },
  specGap:
    "The specification does not speak of parts: a `Range` of bytes is answered by that one, so that " +
    "players can go to any place.",
  handle: async (ports, { companyId }, { params, query }) => {
    const blob = await audioOf(ports, companyId, params.callId, query.kind)
    if (blob === null) return { ok: false, refusal: refusal("not_found", NO_AUDIO) }
    const { length: size, edition, read } = blob
    const sends = {
      mediaType: "audio/mpeg",
      size,
      edition,
      headers: HEAD,
      read: (from: number, until: number) => read({ from, until }),
    }
    return { ok: true, body: "", sends }
  },
})

/** The blob of audio that is held; null where there is none, or its key was erased. */
async function audioOf(
  ports: Pick<Ports, "blobs" | "runner">,
  companyId: CompanyId,
  name: string,
  kind: AudioKind,
): Promise<Blob | null> {
  const callId = parseCallId(name)
  if (callId === null) return null
  // By the stream: what was deleted is gone, though its blob may still be on its way out.
  const held = await ports.runner.readLatest(recordingsOf(companyId), (state) =>
    heldAudio(state, callId, kind),
  )
  return held === null ? null : ports.blobs.find(companyId, held.blobId)
}
