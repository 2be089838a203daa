/** `GET /api/v1/phone/recordings`: the calls of which audio is held, newest first. */
import { z } from "zod"
import type { RecordedCallRow } from "../../projections/recordings/recordings.ts"
import { listRecordings } from "../../projections/recordings/recordings.ts"
import { route } from "../frame/routes/declare/route.ts"
import { idOf, isoTime, queryTime } from "../frame/kernel/schema.ts"
import type { Blob } from "../../adapters/postgres/blobs/port.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { recordingsOf } from "../../domain/recordings/aggregates.ts"
import type { AudioKind } from "../../domain/recordings/recording-events.ts"
import { parseCallId, AUDIO_KINDS } from "../../domain/recordings/recording-events.ts"
import { heldAudio } from "../../domain/recordings/recordings.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import type { Ports } from "../frame/ports.ts"
import { OfCall, URL_OF_CALL, NO_CALL, callWithAudio, noCall, blobOf } from "./keep-audio.ts"
import { causeOf } from "../frame/routes/call.ts"

const MOST = 100
const USUAL = 50

const Audio = (what: string) =>
  z
    .object({ seconds: z.int().describe("How long it is") })
    .nullable()
    .describe(`${what}; null where none is held`)

const Recording = z
  .object({
    id: idOf("the call"),
    direction: z.enum(["in", "out"]).describe("`in` for a call that came to the company"),
    from: z
      .string()
      .nullable()
      .describe("Who called; null where they showed no number, or it was erased"),
    to: z.string().nullable().describe("Which number was called; null once it was erased"),
    createdAt: isoTime.describe("When the call came: what `before` is compared with"),
    recording: Audio("The call as it was spoken"),
    voicemail: Audio("What the caller left behind the greeting"),
  })
  .meta({ id: "Recording", description: "A call of which audio is held" })

const Query = z.object({
  before: queryTime.optional().describe("Only calls that came before this instant"),
  limit: z.coerce
    .number()
    .pipe(z.int().min(1).max(MOST))
    .default(USUAL)
    .describe("How many at most"),
})

/** The route. */
export const recordingList = route({
  name: "listRecordings",
  method: "GET",
  url: "/api/v1/phone/recordings",
  group: "phone",
  summary: "List calls with recordings",
  operation: "phone.recordings.read",
  counted: true,
  query: Query,
  reply: z.object({ recordings: z.array(Recording).describe("The newest call first") }),
  reads: ["calls", "recordings"],
  handle: async (ports, { companyId }, { query: { before = null, limit } }) => {
    const asked = { before, limit }
    const rows = await ports.readAs(companyId, (db) => listRecordings(db, companyId, asked))
    return { ok: true, body: { recordings: rows.map(recordingOf) } }
  },
})

function recordingOf(row: RecordedCallRow): z.infer<typeof Recording> {
  const held = (seconds: number | null) => (seconds === null ? null : { seconds })
  return {
    id: row.call_id,
    direction: row.direction,
    from: row.from_number,
    to: row.to_number,
    createdAt: row.created_at.toISOString(),
    recording: held(row.call_seconds),
    voicemail: held(row.voicemail_seconds),
  }
}

// `GET /api/v1/phone/recordings/:callId`: audio of a call, whole or a part. It is read from its blob
// piece by piece and waits for no read model: what is kept can be heard at once.

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
