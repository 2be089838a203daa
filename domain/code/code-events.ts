/**
 * The facts about a company's code, and the forms they are stored in.
 *
 * What stands in a repository is known to git alone: the facts tell who pushed what and what was refused.
 * Names of refs and of files are people's words and sealed under the company's key; a keyed hash of a ref's
 * name tells refs apart without it.
 */
import type { FactOf, FormatTable, ValueOf } from "../kernel/format.ts"
import { codecOf, flag, int, list, oneOf, optional, plain, record, time } from "../kernel/format.ts"
import { id, sealed, idKind } from "../kernel/id-kinds.ts"
import { idParser } from "../kernel/ids.ts"

/** `push_` and a unique part. */
export type PushId = `push_${string}`

/** The push id that a text is. */
export const parsePushId = idParser("push_")

/** Ids of pushes, in the forms of facts. */
const pushId = idKind("a push's id", parsePushId)

/** Why a push is refused. */
export const REFUSALS = [
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
export type PushRefusalCode = (typeof REFUSALS)[number]

const update = record({
  ref: sealed,
  /** A keyed hash of the ref's name. */
  refHash: plain,
  /** Where it pointed, by the pusher; null where it was not there. */
  old: optional(plain),
  /** Where it points from here on; null where it is taken away. */
  new: optional(plain),
})

/** A ref as a push moves it. */
export type SealedUpdate = ValueOf<typeof update>

const foundRef = record({
  /** Null where nobody knows the name any more: the ref is gone. */
  ref: optional(sealed),
  refHash: plain,
  /** Where it points; null where it is not there. */
  id: optional(plain),
})

/** A ref as it was found in the repository. */
export type FoundRef = ValueOf<typeof foundRef>

const core = record({
  /** Of the default branch. */
  refHash: plain,
  /** The tree of the protected core there; null where there is none. */
  tree: optional(plain),
})

const who = { personId: optional(id.person), keyId: optional(id.key) }

/** Everything that can happen to a company's code. */
const codeFormats = {
  /** The company has a repository, an empty one. */
  RepositoryCreated: { version: 1, fields: { at: time } },
  /** A push passed all checks: its refs are about to move. */
  PushAccepted: {
    version: 1,
    fields: {
      at: time,
      pushId,
      ...who,
      updates: list(update),
      /** Null where it does not move the default branch. */
      core: optional(core),
      /** What it brought: how many objects, and their bytes unpacked. */
      objects: int,
      bytes: int,
    },
  },
  /** All refs of a push moved as it wanted. */
  PushCompleted: { version: 1, fields: { at: time, pushId } },
  /** A push was refused before any ref moved. */
  PushRefused: {
    version: 1,
    fields: {
      at: time,
      pushId,
      ...who,
      code: oneOf(...REFUSALS),
      /** The lines that the pusher was shown, sealed. */
      shownLines: optional(sealed),
    },
  },
  /** The repository's refs were found to be others than the facts say, or not all of a push's moved. */
  RefsReconciled: {
    version: 1,
    fields: {
      at: time,
      /** The push that ends by it; null where it is about none. */
      pushId: optional(pushId),
      refs: list(foundRef),
    },
  },
  /** An operator chose another default branch: the one that clones check out. */
  DefaultBranchChanged: {
    version: 1,
    fields: {
      at: time,
      ref: sealed,
      /** A keyed hash of the ref's name. */
      refHash: plain,
      /** The tree of the protected core there; null where there is none. */
      tree: optional(plain),
    },
  },
  /** A text that looks like a secret is let through from here on. */
  SecretAllowed: {
    version: 1,
    fields: {
      at: time,
      /** A keyed hash of the text. */
      fingerprint: plain,
    },
  },
  /** What no branch or tag reaches is about to be taken out of the repository, for the sake of an object: mostly a blob. */
  ScrubStarted: { version: 1, fields: { at: time, blob: plain } },
  /** That ended: whether the object is gone. */
  ScrubFinished: { version: 1, fields: { at: time, blob: plain, isGone: flag } },
  /** The repository is gone, with all of its objects. */
  RepositoryErased: { version: 1, fields: { at: time } },
} satisfies FormatTable

/** Everything that can happen to a company's code. */
export type CodeEvent = FactOf<typeof codeFormats>

/** One of these facts. */
export type CodeFact<T extends CodeEvent["type"]> = Extract<CodeEvent, { readonly type: T }>

/** Writes and reads the facts about code. */
export const codeCodec = codecOf(codeFormats)
