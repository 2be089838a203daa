/**
 * Events of a company's code and their stored formats.
 *
 * Only git has the repository's content; the events record who pushed and what was refused. Names of refs and files
 * are personal text and sealed under the company's key; a keyed hash of its name identifies a ref.
 */
import type { FactOf, EventFormats, ValueOf } from "../kernel/event-format.ts"
import {
  codecOf,
  flag,
  integer,
  list,
  enumOf,
  optional,
  asciiText,
  record,
  instant,
} from "../kernel/event-format.ts"
import { id, sealedText, idFieldType } from "../kernel/id-field-types.ts"
import { createIdParser } from "../kernel/ids.ts"

/** `push_` and a unique part. */
export type PushId = `push_${string}`

export const parsePushId = createIdParser("push_")

const pushId = idFieldType("a push's id", parsePushId)

export const PUSH_REFUSAL_CODES = [
  /** An invalid ref name, or too many refs. */
  "refs",
  /** Too large, or too many objects. */
  "size",
  /** It contains an API key of this service. */
  "platform_key",
  "secret",
  /** The protected core does not match an official release. */
  "protected_core",
  /** It would force or delete the default branch. */
  "default_branch",
] as const

export type PushRefusalCode = (typeof PUSH_REFUSAL_CODES)[number]

const update = record({
  ref: sealedText,
  refHash: asciiText,
  /** The former id according to the pusher; null for a new ref. */
  old: optional(asciiText),
  /** The new id; null for a deleted ref. */
  new: optional(asciiText),
})

/** A change of a ref by a push. */
export type SealedRefUpdate = ValueOf<typeof update>

const foundRef = record({
  /** Null if the name is unknown, because the ref is gone. */
  ref: optional(sealedText),
  refHash: asciiText,
  /** The id that the ref points to; null if it does not exist. */
  id: optional(asciiText),
})

export type FoundRef = ValueOf<typeof foundRef>

const core = record({
  refHash: asciiText,
  /** The tree of the protected core; null if there is none. */
  tree: optional(asciiText),
})

const actorFields = { personId: optional(id.person), keyId: optional(id.key) }

const codeFormats = {
  RepositoryCreated: { version: 1, fields: { at: instant } },
  /** A push passed all checks; its refs are about to move. */
  PushAccepted: {
    version: 1,
    fields: {
      at: instant,
      pushId,
      ...actorFields,
      updates: list(update),
      /** Null if the push does not move the default branch. */
      core: optional(core),
      /** Number of objects in the push, and their unpacked size in bytes. */
      objects: integer,
      bytes: integer,
    },
  },
  PushCompleted: { version: 1, fields: { at: instant, pushId } },
  PushRefused: {
    version: 1,
    fields: {
      at: instant,
      pushId,
      ...actorFields,
      code: enumOf(...PUSH_REFUSAL_CODES),
      /** The lines that the pusher saw, sealed. */
      shownLines: optional(sealedText),
    },
  },
  /** The repository's refs differed from the events, or not all refs of a push moved. */
  RefsReconciled: {
    version: 1,
    fields: {
      at: instant,
      /** The push that this ends; null if there is none. */
      pushId: optional(pushId),
      refs: list(foundRef),
    },
  },
  /** An operator chose another default branch, which clones check out. */
  DefaultBranchChanged: {
    version: 1,
    fields: {
      at: instant,
      ref: sealedText,
      refHash: asciiText,
      tree: optional(asciiText),
    },
  },
  /** A text that looks like a secret may be pushed from now on. */
  SecretAllowed: {
    version: 1,
    fields: {
      at: instant,
      fingerprint: asciiText,
    },
  },
  /**
   * Objects that no branch or tag reaches are about to be deleted, in order to remove one object, usually a blob.
   */
  ScrubStarted: { version: 1, fields: { at: instant, blob: asciiText } },
  /** The scrub ended; `isGone` says whether the object is removed. */
  ScrubFinished: { version: 1, fields: { at: instant, blob: asciiText, isGone: flag } },
  RepositoryErased: { version: 1, fields: { at: instant } },
} satisfies EventFormats

/** Every event of a company's code. */
export type CodeEvent = FactOf<typeof codeFormats>

/** An event of a company's code of type `T`. */
export type CodeFact<T extends CodeEvent["type"]> = Extract<CodeEvent, { readonly type: T }>

/** Writes and reads the events of a company's code. */
export const codeCodec = codecOf(codeFormats)
