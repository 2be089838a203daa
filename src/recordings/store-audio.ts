/** Keeping audio that a carrier has: brought here, said to be kept, and forgotten there. */
import type { Blobs } from "../../adapters/postgres/blobs/port.ts"
import { BlobExists } from "../../adapters/postgres/blobs/port.ts"
import type { VoiceCarrier } from "../../adapters/providers/voice/port.ts"
import { CompanyErased } from "../../adapters/sealing/port.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { recordingsStreamOf } from "../../domain/recordings/aggregates.ts"
import type { CallId, AudioKind } from "../../domain/recordings/recording-events.ts"
import { RETENTION_DAYS, AUDIO_KINDS } from "../../domain/recordings/recording-events.ts"
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

/** Nineteen hours at 24 kbps: what is more is no call. */
const MAX_BYTES = 200 * 1024 * 1024

/** Audio of a call, at a carrier. */
export interface CarrierAudio {
  readonly companyId: CompanyId
  readonly callId: CallId
  readonly kind: AudioKind
  /** Whole seconds. */
  readonly seconds: number
  /** The carrier's own name for it. */
  readonly carrierRef: string
  /** When the call began, UTC milliseconds. */
  readonly calledAt: number
  /** Whose key seals it: the caller's, which is a recipient's too. */
  readonly subject: string
}

/** Who has it. */
export type AudioSource = Pick<VoiceCarrier, "downloadRecording" | "deleteRecording">

/** As a sentence calls it. */
export const CALL_CARRIER_LABEL = "the carrier of calls"
/** Why it is tried again. */
export const NO_ANSWER_MESSAGE = `${CALL_CARRIER_LABEL} does not answer`

/** The blob that holds audio of a call. What was deleted is never kept again, so no other has its name. */
export const audioBlobIdOf = (callId: CallId, kind: AudioKind): string => `${callId}-${kind}`

/**
 * Keeps it, unless nothing was said, it is or was kept, its call is too long ago, or its company is erased;
 * the carrier forgets it in each case. Done again after a crash at any line, it is kept once.
 *
 * @throws ProviderUnavailable, ProviderOutcomeUnknown, RecordingNotFound; BlobTooLarge
 */
export async function storeAudio(
  ports: Pick<Ports, "blobs" | "runner">,
  saved: CarrierAudio,
  source: AudioSource,
  cause: Cause,
): Promise<void> {
  const { companyId, callId, kind, seconds, calledAt } = saved
  const stream = recordingsStreamOf(companyId)
  const look = (state: RecordingsState) => recordingStatusOf(state, callId, kind)
  const blob = audioBlobIdOf(callId, kind)
  let standing = await ports.runner.readLatest(stream, look)
  if (
    seconds > 0 &&
    standing === "never came" &&
    (await downloadAudio(ports.blobs, saved, source))
  ) {
    const command = {
      type: "StoreRecording" as const,
      callId,
      kind,
      seconds,
      blobId: blob,
      calledAt,
    }
    standing = (await ports.runner.execute(stream, command, cause, look)).view
  }
  // It was deleted meanwhile, by whoever kept it before, or the call was too long ago.
  if (standing !== "held") await ports.blobs.delete(companyId, blob)
  await source.deleteRecording(saved.carrierRef)
}

/** Writes the blob; false where there is nobody any more for whom. */
async function downloadAudio(
  blobs: Blobs,
  saved: CarrierAudio,
  source: AudioSource,
): Promise<boolean> {
  const { companyId, callId, kind, carrierRef, subject } = saved
  const blob = { companyId, subject, blobId: audioBlobIdOf(callId, kind) }
  try {
    await blobs.write(blob, audioChunksOf(source, carrierRef), { maxBytes: MAX_BYTES })
    return true
  } catch (error) {
    // A process that died behind this line wrote it, and a blob that is there is whole.
    if (error instanceof BlobExists) return true
    if (error instanceof CompanyErased) return false
    throw error
  }
}

/** The audio, asked for when somebody takes it: what nobody takes is never begun. */
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
    .describe("Days from the call on; null: until somebody deletes it"),
})

const base = {
  group: "phone",
  url: "/api/v1/phone/recordings/keep",
  isCounted: true,
  reply: RetentionPeriod,
} as const

/** Reads it. */
export const readRetentionDays = route({
  ...base,
  name: "readKeepRecordings",
  method: "GET",
  summary: "How long recordings are kept",
  operation: "phone.recordings.read",
  readStreams: [recordingsStreamOf],
  specGap: "The specification names no default: `null`, so that nothing is deleted unasked.",
  handle: async (ports, { companyId }) => ({
    ok: true,
    body: { days: await ports.runner.read(recordingsStreamOf(companyId), retentionDaysOf) },
  }),
})

/** Sets it. */
export const setRetentionDays = route({
  ...base,
  name: "keepRecordings",
  method: "PUT",
  summary: "Say how long recordings are kept",
  example: { body: { days: 90 } },
  operation: "phone.recordings.keep",
  body: RetentionPeriod,
  specGap: "The specification does not show the verb: PUT, because it saves the whole.",
  handle: async (ports, caller, { body: { days } }) => {
    const command = { type: "SetRetention" as const, days }
    const stream = recordingsStreamOf(caller.companyId)
    const done = await ports.runner.execute(stream, command, causeOf(caller), retentionDaysOf)
    return { ok: true, body: { days: done.view }, position: done.accepted ? done.position : null }
  },
})

/** A day. */
export const DAY_MS = 86_400_000

/** A day as `2026-11-25`. */
export const formatDay = (day: number): string => new Date(day).toISOString().slice(0, 10)

/** Where it is. */
export const CALL_RECORDINGS_URL = "/api/v1/phone/recordings/:callId"

/** Names a call. */
export const CallParams = z.object({ callId: boundedText(100).describe("Id of the call") })

/** What is said of a call that is not there. */
export const CALL_NOT_FOUND = "There is no such call."

/** The refusal of a call that is not there. */
export const callNotFound = (): Refusal => refusal("not_found", CALL_NOT_FOUND)

/** A call, as far as its audio goes. */
interface CallAudio {
  /** Of what the carrier has, or had, something that can be heard. */
  readonly availableKinds: readonly AudioKind[]
  /** When the call began, UTC milliseconds. */
  readonly calledAt: number
}

/** The company's call of this id; null where it has none. */
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
