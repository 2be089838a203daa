import type { Blobs } from "../../adapters/postgres/blobs/port.ts"
import { BlobExists } from "../../adapters/postgres/blobs/port.ts"
import type { VoiceCarrier } from "../../adapters/providers/voice/port.ts"
import { CompanyErased } from "../../adapters/sealing/port.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { recordingsStreamOf } from "../../domain/recordings/aggregates.ts"
import type { CallId, AudioKind } from "../../domain/kernel/calls.ts"
import { RETENTION_DAYS } from "../../domain/recordings/recording-events.ts"
import { AUDIO_KINDS } from "../../domain/kernel/calls.ts"
import type { RecordingsState } from "../../domain/recordings/recordings.ts"
import { recordingStatusOf, retentionDaysOf } from "../../domain/recordings/recordings.ts"
import type { Cause } from "../frame/kernel/envelope.ts"
import type { Ports } from "../frame/ports.ts"
import { z } from "zod"
import { causeOf } from "../frame/routes/api-call.ts"
import { route } from "../frame/routes/declare/route.ts"
import { callStreamOf } from "../../domain/voice/aggregates.ts"
import type { Refusal } from "../frame/routes/answers/refusal.ts"
import { refusal } from "../frame/routes/answers/refusal.ts"
import { boundedText } from "../frame/kernel/schema.ts"

/** Nineteen hours at 24 kbps; no call is larger. */
const MAX_BYTES = 200 * 1024 * 1024

export interface CarrierAudio {
  readonly companyId: CompanyId
  readonly callId: CallId
  readonly kind: AudioKind
  /** Whole seconds. */
  readonly seconds: number
  /** The carrier's id of the audio. */
  readonly carrierRef: string
  /** When the call began, UTC milliseconds. */
  readonly calledAt: number
  /** The subject whose key seals it: the caller. */
  readonly subject: string
}

export type AudioSource = Pick<VoiceCarrier, "downloadRecording" | "deleteRecording">

/** The carrier's name in messages. */
export const CALL_CARRIER_LABEL = "the carrier of calls"
/** The reason of a retry. */
export const NO_ANSWER_MESSAGE = `${CALL_CARRIER_LABEL} does not answer`

/** The blob id of a call's audio. Deleted audio is never stored again, so ids are unique. */
export const audioBlobIdOf = (callId: CallId, kind: AudioKind): string => `${callId}-${kind}`

/**
 * Stores audio unless it is old, empty or already stored, then deletes it at the carrier. @throws
 * ProviderUnavailable, ProviderOutcomeUnknown, RecordingNotFound, BlobTooLarge
 */
export async function storeAudio(
  ports: Pick<Ports, "blobs" | "runner">,
  audio: CarrierAudio,
  source: AudioSource,
  cause: Cause,
): Promise<void> {
  const { companyId, callId, kind, seconds, calledAt } = audio
  const stream = recordingsStreamOf(companyId)
  const statusOf = (state: RecordingsState) => recordingStatusOf(state, callId, kind)
  const blobId = audioBlobIdOf(callId, kind)
  let status = await ports.runner.readLatest(stream, statusOf)
  if (seconds > 0 && status === "never came" && (await downloadAudio(ports.blobs, audio, source))) {
    const command = {
      type: "StoreRecording" as const,
      callId,
      kind,
      seconds,
      blobId,
      calledAt,
    }
    status = (await ports.runner.execute(stream, command, cause, statusOf)).view
  }
  // The recording was deleted in the meantime, or the call is too old.
  if (status !== "held") await ports.blobs.delete(companyId, blobId)
  await source.deleteRecording(audio.carrierRef)
}

/** Writes the blob; false if the company is erased. */
async function downloadAudio(
  blobs: Blobs,
  audio: CarrierAudio,
  source: AudioSource,
): Promise<boolean> {
  const { companyId, callId, kind, carrierRef, subject } = audio
  const blob = { companyId, subject, blobId: audioBlobIdOf(callId, kind) }
  try {
    await blobs.write(blob, audioChunksOf(source, carrierRef), { maxBytes: MAX_BYTES })
    return true
  } catch (error) {
    // An earlier attempt wrote it; blobs are complete once they exist.
    if (error instanceof BlobExists) return true
    if (error instanceof CompanyErased) return false
    throw error
  }
}

/** Downloads lazily: nothing is requested until the first chunk is read. */
async function* audioChunksOf(source: AudioSource, ref: string): AsyncGenerator<Uint8Array> {
  yield* await source.downloadRecording(ref)
}

const RetentionPeriod = z.object({
  days: z
    .union(
      RETENTION_DAYS.map((days) => z.literal(days)),
      { error: `Must be ${RETENTION_DAYS.join(", ")} or null.` },
    )
    .nullable()
    .describe("Days after the call; null: until it is deleted"),
})

const base = {
  group: "phone",
  url: "/api/v1/phone/recordings/keep",
  isCounted: true,
  reply: RetentionPeriod,
} as const

export const readRetentionDays = route({
  ...base,
  name: "readKeepRecordings",
  method: "GET",
  summary: "Read how long recordings are stored",
  operation: "phone.recordings.read",
  readStreams: [recordingsStreamOf],
  specGap: "The specification names no default: `null`, so that nothing is deleted by default.",
  handle: async (ports, { companyId }) => ({
    ok: true,
    body: { days: await ports.runner.read(recordingsStreamOf(companyId), retentionDaysOf) },
  }),
})

export const setRetentionDays = route({
  ...base,
  name: "keepRecordings",
  method: "PUT",
  summary: "Set how long recordings are stored",
  example: { body: { days: 90 } },
  operation: "phone.recordings.keep",
  body: RetentionPeriod,
  specGap: "The specification does not show the method: PUT, because it replaces the setting.",
  handle: async (ports, caller, { body: { days } }) => {
    const command = { type: "SetRetention" as const, days }
    const stream = recordingsStreamOf(caller.companyId)
    const done = await ports.runner.execute(stream, command, causeOf(caller), retentionDaysOf)
    return { ok: true, body: { days: done.view }, position: done.accepted ? done.position : null }
  },
})

/** A day in milliseconds. */
export const DAY_MS = 86_400_000

/** Formats a day as `2026-11-25`. */
export const formatDay = (day: number): string => new Date(day).toISOString().slice(0, 10)

/** The path of a call's recordings. */
export const CALL_RECORDINGS_URL = "/api/v1/phone/recordings/:callId"

export const CallParams = z.object({ callId: boundedText(100).describe("Id of the call") })

/** The message for an unknown call. */
export const CALL_NOT_FOUND = "No call has this id. List calls to see their ids."

/** The refusal of an unknown call. */
export const callNotFound = (): Refusal => refusal("not_found", CALL_NOT_FOUND)

interface CallAudio {
  /** The kinds for which the carrier has, or had, audio. */
  readonly availableKinds: readonly AudioKind[]
  /** When the call began, UTC milliseconds. */
  readonly calledAt: number
}

/** Finds a call of the company; null if it has none with this id. */
export function findCallAudio(
  { runner }: Pick<Ports, "runner">,
  companyId: CompanyId,
  callId: CallId,
): Promise<CallAudio | null> {
  return runner.readLatest(callStreamOf(companyId, callId), ({ call }) => {
    if (call === null) return null
    const { audio, offered } = call
    const availableKinds = AUDIO_KINDS.filter((kind) => (audio[kind]?.seconds ?? 0) > 0)
    return { availableKinds, calledAt: offered.at }
  })
}
