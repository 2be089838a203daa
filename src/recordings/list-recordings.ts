import { z } from "zod"
import type { RecordedCallRow } from "../../projections/recordings/recordings.ts"
import { listRecordings } from "../../projections/recordings/recordings.ts"
import { route } from "../frame/routes/declare/route.ts"
import { describedId, isoTimeSchema, queryTimeSchema } from "../frame/kernel/schema.ts"
import type { Blob } from "../../adapters/postgres/blobs/port.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { recordingsStreamOf } from "../../domain/recordings/aggregates.ts"
import type { AudioKind } from "../../domain/kernel/calls.ts"
import { parseCallId, AUDIO_KINDS } from "../../domain/kernel/calls.ts"
import { findStoredRecording } from "../../domain/recordings/recordings.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import type { Ports } from "../frame/ports.ts"
import {
  CallParams,
  CALL_RECORDINGS_URL,
  CALL_NOT_FOUND,
  findCallAudio,
  callNotFound,
  audioBlobIdOf,
} from "./store-audio.ts"
import { causeOf } from "../frame/routes/api-call.ts"

const MAX_LISTED = 100
const DEFAULT_LISTED = 50

const heldAudioSchema = (what: string) =>
  z
    .object({ seconds: z.int().describe("Length in seconds") })
    .nullable()
    .describe(`${what}; null if none is stored`)

const Recording = z
  .object({
    id: describedId("the call"),
    direction: z.enum(["in", "out"]).describe("`in` for an incoming call"),
    from: z.string().nullable().describe("The caller's number; null if withheld, or after erasure"),
    to: z.string().nullable().describe("The called number; null after erasure"),
    createdAt: isoTimeSchema.describe("When the call came in; `before` compares with it"),
    recording: heldAudioSchema("The recording of the conversation"),
    voicemail: heldAudioSchema("The voicemail that the caller left"),
  })
  .meta({ id: "Recording", description: "A call with stored audio" })

const RecordingsQuery = z.object({
  before: queryTimeSchema.optional().describe("Only calls before this instant"),
  limit: z.coerce
    .number()
    .pipe(z.int().min(1).max(MAX_LISTED))
    .default(DEFAULT_LISTED)
    .describe("Maximum number of calls"),
})

/** Lists calls with stored audio. */
export const recordingList = route({
  name: "listRecordings",
  method: "GET",
  url: "/api/v1/phone/recordings",
  group: "phone",
  summary: "List calls with recordings",
  operation: "phone.recordings.read",
  isCounted: true,
  query: RecordingsQuery,
  reply: z.object({ recordings: z.array(Recording).describe("Newest call first") }),
  readModels: ["calls", "recordings"],
  handle: async (ports, { companyId }, { query: { before = null, limit } }) => {
    const range = { before, limit }
    const rows = await ports.readAs(companyId, (db) => listRecordings(db, companyId, range))
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

// The audio is streamed from its blob, complete or in part, without waiting for a read model.

const NO_AUDIO = "No recording has this id. List recordings to see their ids."
/** Recordings are personal data, so no proxy may cache them. */
const AUDIO_HEADERS = { "cache-control": "private, no-store", "content-disposition": "inline" }

/** Streams a recording: `GET /api/v1/phone/recordings/:callId`. */
export const recordingAudio = route({
  name: "getRecording",
  method: "GET",
  url: CALL_RECORDINGS_URL,
  group: "phone",
  summary: "Listen to a recording",
  example: { params: { callId: "call_4Zb0x7" } },
  operation: "phone.recordings.read",
  isCounted: true,
  params: CallParams,
  query: z.object({
    kind: z
      .enum(AUDIO_KINDS)
      .default("call")
      .describe("`call` for the conversation, or `voicemail`"),
  }),
  fileTypes: ["audio/mpeg"],
  statuses: [200, 206],
  reply: z.string(),
  refusalCodes: ["not_found", "range_not_satisfiable"],
  refusalMessages: { not_found: NO_AUDIO },
  specGap:
    "The specification does not mention ranges: a single byte `Range` is supported, so that " +
    "players can seek.",
  handle: async (ports, { companyId }, { params, query }) => {
    const blob = await findAudioBlob(ports, companyId, params.callId, query.kind)
    if (blob === null) return { ok: false, refusal: refusal("not_found", NO_AUDIO) }
    const { length: size, versionId, read } = blob
    const streamedBody = {
      mediaType: "audio/mpeg",
      size,
      etag: versionId,
      headers: AUDIO_HEADERS,
      read: (from: number, until: number) => read({ from, until }),
    }
    return { ok: true, body: "", streamedBody }
  },
})

/** Finds the blob of stored audio; null if there is none or its key was erased. */
async function findAudioBlob(
  ports: Pick<Ports, "blobs" | "runner">,
  companyId: CompanyId,
  name: string,
  kind: AudioKind,
): Promise<Blob | null> {
  const callId = parseCallId(name)
  if (callId === null) return null
  // The stream decides: a deleted recording's blob may not be removed yet.
  const held = await ports.runner.readLatest(recordingsStreamOf(companyId), (state) =>
    findStoredRecording(state, callId, kind),
  )
  return held === null ? null : ports.blobs.find(companyId, held.blobId)
}

export const deleteRecording = route({
  name: "deleteRecording",
  method: "DELETE",
  url: CALL_RECORDINGS_URL,
  group: "phone",
  summary: "Delete the recordings of a call",
  example: { params: { callId: "call_4Zb0x7" } },
  operation: "phone.recordings.delete",
  isCounted: true,
  params: CallParams,
  query: z.object({
    kind: z
      .enum([...AUDIO_KINDS, "both"])
      .default("both")
      .describe("Which recordings are deleted"),
  }),
  reply: z.object({
    deleted: z
      .int()
      .min(0)
      .max(2)
      .describe("Number of deleted recordings, including those not yet stored"),
  }),
  refusalCodes: ["not_found"],
  refusalMessages: { not_found: CALL_NOT_FOUND },
  specGap: "The specification does not show the method: DELETE. An unknown call is 404.",
  handle: async (ports, caller, { params, query: { kind } }) => {
    const { companyId } = caller
    const callId = parseCallId(params.callId)
    const call = callId === null ? null : await findCallAudio(ports, companyId, callId)
    if (callId === null || call === null) return { ok: false, refusal: callNotFound() }
    const kinds = kind === "both" ? AUDIO_KINDS : [kind]
    const command = { type: "DeleteRecordings" as const, callId, kinds, ...call }
    const done = await ports.runner.execute(recordingsStreamOf(companyId), command, causeOf(caller))
    if (!done.accepted) throw new Error(`a deletion was rejected: ${done.refusal.code}`)
    for (const fact of done.facts) {
      // A job deletes the blob too, after a crash; here it is deleted before the answer.
      if (fact.type === "RecordingDeleted")
        await ports.blobs.delete(companyId, audioBlobIdOf(callId, fact.kind))
    }
    return { ok: true, body: { deleted: done.facts.length }, position: done.position }
  },
})
