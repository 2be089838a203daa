/**
 * Events of a company's publishes and their stored formats. Build errors quote text that people wrote, so they are
 * sealed.
 */
import type { FactOf, EventFormats } from "../kernel/event-format.ts"
import { codecOf, flag, integer, enumOf, asciiText, instant } from "../kernel/event-format.ts"
import { id, sealedText } from "../kernel/id-field-types.ts"
import { publishId } from "./ids.ts"

export const PUBLISH_FAIL_REASONS = [
  "build",
  /** The build's result does not match the company file, or is too large. */
  "artifact",
  "start",
  /** No build machine was available for too long. */
  "unavailable",
  "discarded",
] as const

export type PublishFailReason = (typeof PUBLISH_FAIL_REASONS)[number]

/** What a publish serves: files, or a running app. */
export const ARTIFACT_KINDS = ["static", "app"] as const

/** What a publish serves. */
export type ArtifactKind = (typeof ARTIFACT_KINDS)[number]

/** The stored formats of a company's publish events. */
export const publishFormats = {
  /** A commit shall become the preview. */
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
  /** The publish with this id can never start. */
  PublishAbandoned: { version: 1, fields: { at: instant, publishId } },
  /** A failed publish is queued again, as the newest, for free. */
  PublishRetried: { version: 1, fields: { at: instant, publishId } },
  /** The build started; recorded again if it restarts. */
  BuildStarted: { version: 1, fields: { at: instant, publishId } },
  /** The build ended, and its result is about to be stored. */
  BuildFinished: { version: 1, fields: { at: instant, publishId } },
  ArtifactStored: {
    version: 1,
    fields: {
      at: instant,
      publishId,
      kind: enumOf(...ARTIFACT_KINDS),
      tag: asciiText,
      files: integer,
      bytes: integer,
    },
  },
  /** The preview shows this publish from now on. */
  PublishLive: { version: 1, fields: { at: instant, publishId } },
  /** Another publish replaced it, or went live before it. */
  PublishReplaced: {
    version: 1,
    fields: {
      at: instant,
      publishId,
      by: publishId,
      /** Whether the preview has shown it; if not, its charge is refunded. */
      wasLive: flag,
    },
  },
  /** It did not become the preview; its charge is refunded. */
  PublishFailed: {
    version: 1,
    fields: { at: instant, publishId, reason: enumOf(...PUBLISH_FAIL_REASONS), error: sealedText },
  },
  ArtifactRemoved: { version: 1, fields: { at: instant, publishId } },
  /** The preview's database and storage were emptied. */
  PreviewReset: { version: 1, fields: { at: instant } },
} satisfies EventFormats

/** Every event of a company's publishes. */
export type PublishEvent = FactOf<typeof publishFormats>

/** An event of a company's publishes of type `T`. */
export type PublishFact<T extends PublishEvent["type"]> = Extract<
  PublishEvent,
  { readonly type: T }
>

/** Writes and reads the events of a company's publishes. */
export const publishCodec = codecOf(publishFormats)
