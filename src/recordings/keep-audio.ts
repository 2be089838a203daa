/** Keeping audio that a carrier has: brought here, said to be kept, and forgotten there. */
import type { Blobs } from "../../adapters/postgres/blobs/port.ts"
import { BlobExists } from "../../adapters/postgres/blobs/port.ts"
import type { Voice } from "../../adapters/providers/voice/port.ts"
import { CompanyErased } from "../../adapters/sealing/port.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { recordingsOf } from "../../domain/recordings/aggregates.ts"
import type { CallId, AudioKind } from "../../domain/recordings/recording-events.ts"
import type { Recordings } from "../../domain/recordings/recordings.ts"
import { standingOf } from "../../domain/recordings/recordings.ts"
import type { Cause } from "../frame/kernel/envelope.ts"
import type { Ports } from "../frame/ports.ts"

/** Nineteen hours at 24 kbps: what is more is no call. */
const MOST_BYTES = 200 * 1024 * 1024

/** Audio of a call, at a carrier. */
export interface SavedAudio {
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
export type AudioSource = Pick<Voice, "audio" | "forgetAudio">

/** As a sentence calls it. */
export const CARRIER = "the carrier of calls"
/** Why it is tried again. */
export const SILENT = `${CARRIER} does not answer`

/** The blob that holds audio of a call. What was deleted is never kept again, so no other has its name. */
export const blobOf = (callId: CallId, kind: AudioKind): string => `${callId}-${kind}`

/**
 * Keeps it, unless nothing was said, it is or was kept, its call is too long ago, or its company is erased;
 * the carrier forgets it in each case. Done again after a crash at any line, it is kept once.
 *
 * @throws ProviderUnavailable, ProviderSilent, AudioGone; BlobTooLarge
 */
export async function keepAudio(
  ports: Pick<Ports, "blobs" | "runner">,
  saved: SavedAudio,
  source: AudioSource,
  cause: Cause,
): Promise<void> {
  const { companyId, callId, kind, seconds, calledAt } = saved
  const stream = recordingsOf(companyId)
  const look = (state: Recordings) => standingOf(state, callId, kind)
  const blob = blobOf(callId, kind)
  let standing = await ports.runner.readLatest(stream, look)
  if (seconds > 0 && standing === "never came" && (await bring(ports.blobs, saved, source))) {
    const command = { type: "KeepAudio" as const, callId, kind, seconds, blobId: blob, calledAt }
    standing = (await ports.runner.execute(stream, command, cause, look)).view
  }
  // It was deleted meanwhile, by whoever kept it before, or the call was too long ago.
  if (standing !== "held") await ports.blobs.delete(companyId, blob)
  await source.forgetAudio(saved.carrierRef)
}

/** Writes the blob; false where there is nobody any more for whom. */
async function bring(blobs: Blobs, saved: SavedAudio, source: AudioSource): Promise<boolean> {
  const { companyId, callId, kind, carrierRef, subject } = saved
  const blob = { companyId, subject, blobId: blobOf(callId, kind) }
  try {
    await blobs.write(blob, piecesOf(source, carrierRef), { mostBytes: MOST_BYTES })
    return true
  } catch (error) {
    // A process that died behind this line wrote it, and a blob that is there is whole.
    if (error instanceof BlobExists) return true
    if (error instanceof CompanyErased) return false
    throw error
  }
}

/** The audio, asked for when somebody takes it: what nobody takes is never begun. */
async function* piecesOf(source: AudioSource, ref: string): AsyncGenerator<Uint8Array> {
  yield* await source.audio(ref)
}
