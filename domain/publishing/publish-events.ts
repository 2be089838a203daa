/**
 * The facts about what a company publishes, and the forms they are stored in. What went wrong with a build
 * is told in words that people wrote: they are sealed.
 */
import type { FactOf, EventFormats } from "../kernel/event-format.ts"
import { codecOf, flag, integer, enumOf, asciiText, instant } from "../kernel/event-format.ts"
import { id, sealedText } from "../kernel/id-field-types.ts"
import { publishId } from "./ids.ts"

/** Why a publish failed. */
export const PUBLISH_FAIL_REASONS = [
  /** One of the commands that build it. */
  "build",
  /** What was built is not what the company file says, or is too much. */
  "artifact",
  /** The app did not come up. */
  "start",
  /** There was no machine to build it, or it could not be had, for too long. */
  "unavailable",
  /** An operator gave it up. */
  "discarded",
] as const

/** Why a publish failed. */
export type PublishFailReason = (typeof PUBLISH_FAIL_REASONS)[number]

/** What of it is served: files, or a program that answers. */
export const ARTIFACT_KINDS = ["static", "app"] as const

/** What of it is served. */
export type ArtifactKind = (typeof ARTIFACT_KINDS)[number]

/** Everything that can happen to what a company publishes. */
export const publishFormats = {
  /** A commit is to become the preview. */
  PublishQueued: {
    version: 1,
    fields: {
      at: instant,
      publishId,
      chargeId: asciiText,
      personId: id.person,
      keyId: id.key,
      commit: asciiText,
    },
  },
  /** One of this id is never to begin. */
  PublishAbandoned: { version: 1, fields: { at: instant, publishId } },
  /** One that failed is queued again, as the newest, and for nothing. */
  PublishRetried: { version: 1, fields: { at: instant, publishId } },
  /** Its build begins; told again where it begins anew. */
  BuildStarted: { version: 1, fields: { at: instant, publishId } },
  /** It was built, and what came of it is about to be kept. */
  BuildFinished: { version: 1, fields: { at: instant, publishId } },
  /** What was built is kept. */
  ArtifactStored: {
    version: 1,
    fields: {
      at: instant,
      publishId,
      kind: enumOf(...ARTIFACT_KINDS),
      /** A keyed hash of all that was built. */
      tag: asciiText,
      files: integer,
      bytes: integer,
    },
  },
  /** The preview shows it from here on. */
  PublishLive: { version: 1, fields: { at: instant, publishId } },
  /** Another took its place, or went live before it. */
  PublishReplaced: {
    version: 1,
    fields: {
      at: instant,
      publishId,
      by: publishId,
      /** Whether the preview showed it: else what it cost is given back. */
      wasLive: flag,
    },
  },
  /** It did not become the preview: what it cost is given back. */
  PublishFailed: {
    version: 1,
    fields: { at: instant, publishId, reason: enumOf(...PUBLISH_FAIL_REASONS), error: sealedText },
  },
  /** What was built of it is not kept any more. */
  ArtifactRemoved: { version: 1, fields: { at: instant, publishId } },
  /** The database and the storage of the preview were emptied. */
  PreviewReset: { version: 1, fields: { at: instant } },
} satisfies EventFormats

/** Everything that can happen to what a company publishes. */
export type PublishEvent = FactOf<typeof publishFormats>

/** One of these facts. */
export type PublishFact<T extends PublishEvent["type"]> = Extract<
  PublishEvent,
  { readonly type: T }
>

/** Writes and reads the facts about publishing. */
export const publishCodec = codecOf(publishFormats)
