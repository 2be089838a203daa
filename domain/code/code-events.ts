/**
 * The facts about a company's code, and the forms they are stored in.
 *
 * What stands in a repository is known to git alone: the facts tell who pushed what and what was refused.
 * Names of refs and of files are people's words and sealed under the company's key; a keyed hash of a ref's
 * name tells refs apart without it.
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

/** The push id that a text is. */
export const parsePushId = createIdParser("push_")

/** Ids of pushes, in the forms of facts. */
const pushId = idFieldType("a push's id", parsePushId)

/** Why a push is refused. */
export const PUSH_REFUSAL_CODES = [
  /** A name or a number of refs that is not taken. */
  "refs",
  /** Too large, or too many things. */
  "size",
  /** An API key of this service stands in it. */
  "platform_key",
  /** Another secret does. */
  "secret",
  /** The protected core is not that of an official release. */
  "protected_core",
  /** The default branch would be forced or taken away. */
  "default_branch",
] as const

/** Why a push is refused. */
export type PushRefusalCode = (typeof PUSH_REFUSAL_CODES)[number]

const update = record({
  ref: sealedText,
  /** A keyed hash of the ref's name. */
  refHash: asciiText,
  /** Where it pointed, by the pusher; null where it was not there. */
  old: optional(asciiText),
  /** Where it points from here on; null where it is taken away. */
  new: optional(asciiText),
})

/** A ref as a push moves it. */
export type SealedRefUpdate = ValueOf<typeof update>

const foundRef = record({
  /** Null where nobody knows the name any more: the ref is gone. */
  ref: optional(sealedText),
  refHash: asciiText,
  /** Where it points; null where it is not there. */
  id: optional(asciiText),
})

/** A ref as it was found in the repository. */
export type FoundRef = ValueOf<typeof foundRef>

const core = record({
  /** Of the default branch. */
  refHash: asciiText,
  /** The tree of the protected core there; null where there is none. */
  tree: optional(asciiText),
})

const actorFields = { personId: optional(id.person), keyId: optional(id.key) }

/** Everything that can happen to a company's code. */
const codeFormats = {
  /** The company has a repository, an empty one. */
  RepositoryCreated: { version: 1, fields: { at: instant } },
  /** A push passed all checks: its refs are about to move. */
  PushAccepted: {
    version: 1,
    fields: {
      at: instant,
      pushId,
      ...actorFields,
      updates: list(update),
      /** Null where it does not move the default branch. */
      core: optional(core),
      /** What it brought: how many objects, and their bytes unpacked. */
      objects: integer,
      bytes: integer,
    },
  },
  /** All refs of a push moved as it wanted. */
  PushCompleted: { version: 1, fields: { at: instant, pushId } },
  /** A push was refused before any ref moved. */
  PushRefused: {
    version: 1,
    fields: {
      at: instant,
      pushId,
      ...actorFields,
      code: enumOf(...PUSH_REFUSAL_CODES),
      /** The lines that the pusher was shown, sealed. */
      shownLines: optional(sealedText),
    },
  },
  /** The repository's refs were found to be others than the facts say, or not all of a push's moved. */
  RefsReconciled: {
    version: 1,
    fields: {
      at: instant,
      /** The push that ends by it; null where it is about none. */
      pushId: optional(pushId),
      refs: list(foundRef),
    },
  },
  /** An operator chose another default branch: the one that clones check out. */
  DefaultBranchChanged: {
    version: 1,
    fields: {
      at: instant,
      ref: sealedText,
      /** A keyed hash of the ref's name. */
      refHash: asciiText,
      /** The tree of the protected core there; null where there is none. */
      tree: optional(asciiText),
    },
  },
  /** A text that looks like a secret is let through from here on. */
  SecretAllowed: {
    version: 1,
    fields: {
      at: instant,
      /** A keyed hash of the text. */
      fingerprint: asciiText,
    },
  },
  /** What no branch or tag reaches is about to be taken out of the repository, for the sake of an object: mostly a blob. */
  ScrubStarted: { version: 1, fields: { at: instant, blob: asciiText } },
  /** That ended: whether the object is gone. */
  ScrubFinished: { version: 1, fields: { at: instant, blob: asciiText, isGone: flag } },
  /** The repository is gone, with all of its objects. */
  RepositoryErased: { version: 1, fields: { at: instant } },
} satisfies EventFormats

/** Everything that can happen to a company's code. */
export type CodeEvent = FactOf<typeof codeFormats>

/** One of these facts. */
export type CodeFact<T extends CodeEvent["type"]> = Extract<CodeEvent, { readonly type: T }>

/** Writes and reads the facts about code. */
export const codeCodec = codecOf(codeFormats)
