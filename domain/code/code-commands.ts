/** What can be asked of a company's code, and why it is refused. */
import type { CodeEvent, CodeFact } from "./code-events.ts"
import { MAX_REFS } from "./ref-rules.ts"

type Command<T extends CodeEvent["type"], Type extends string> = { readonly type: Type } & Omit<
  CodeFact<T>,
  "type" | "at"
>

/** Says that a repository was made. One that is there: nothing new. */
export type CreateRepository = Command<"RepositoryCreated", "CreateRepository">
/** Accepts a push that passed all checks. The same again: nothing new. */
export type AcceptPush = Command<"PushAccepted", "AcceptPush"> & {
  /** The state's `scrubs` before git took anything of it. */
  readonly scrubCount: number
}
/** Writes a refusal down, unless there were too many in this minute. */
export type RefusePush = Command<"PushRefused", "RefusePush"> & {
  /** However many there were: another fact names the push. */
  readonly isReferenced: boolean
}
/** Says how refs were found that differ from the facts; with a push, that its refs were looked at. */
export type ReconcileRefs = Command<"RefsReconciled", "ReconcileRefs"> & {
  /** The state's `version` before the repository was looked at. */
  readonly readVersion: number
}
/** Makes another branch the default. The one that it is, with the same core: nothing new. */
export type ChangeDefaultBranch = Command<"DefaultBranchChanged", "ChangeDefaultBranch">
/** Lets a text through that looks like a secret. Again: nothing new. */
export type AllowSecret = Command<"SecretAllowed", "AllowSecret">
/** Lets no push be accepted from here on: the repository is being cleaned. The same again: nothing new. */
export type StartScrub = Command<"ScrubStarted", "StartScrub">
/** Says what the cleaning came to. Again: nothing new. */
export type FinishScrub = Command<"ScrubFinished", "FinishScrub">
/** Says that a repository is gone. None: nothing new. */
export type EraseRepository = Command<"RepositoryErased", "EraseRepository">

/** What can be asked of a company's code. */
export type CodeCommand =
  | CreateRepository
  | AcceptPush
  | RefusePush
  | ReconcileRefs
  | ChangeDefaultBranch
  | AllowSecret
  | StartScrub
  | FinishScrub
  | EraseRepository

/** A command was refused. */
export interface CodeRefused {
  readonly type: "CodeRefused"
  readonly at: number
  readonly code:
    "no_repository" | "too_many_refs" | "looked_too_early" | "being_cleaned" | "push_under_way"
  readonly message: string
}

/** What people are told of each. */
export const CODE_REFUSAL_MESSAGES: Readonly<Record<CodeRefused["code"], string>> = {
  no_repository: "This company has no repository.",
  too_many_refs: `A repository has at most ${MAX_REFS} branches and tags; delete some first.`,
  being_cleaned: "The repository was cleaned meanwhile, or is just now. Push again.",
  push_under_way: "A push to this repository is under way. Try again in a minute.",
  looked_too_early: "The refs moved since they were looked at.",
}
