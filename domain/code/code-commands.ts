/** The commands of a company's code and their refusals. */
import type { CodeEvent, CodeFact } from "./code-events.ts"
import { MAX_REFS } from "./ref-rules.ts"

type Command<T extends CodeEvent["type"], Type extends string> = { readonly type: Type } & Omit<
  CodeFact<T>,
  "type" | "at"
>

/** Records that a repository was created. Idempotent. */
export type CreateRepository = Command<"RepositoryCreated", "CreateRepository">
/** Accepts a push that passed all checks. Idempotent. */
export type AcceptPush = Command<"PushAccepted", "AcceptPush"> & {
  /** `scrubCountOf` the state, read before git received any object of the push. */
  readonly scrubCount: number
}
/** Records a refused push, unless there were too many in this minute. */
export type RefusePush = Command<"PushRefused", "RefusePush"> & {
  /** Records it regardless of the rate, because another event references the push. */
  readonly isReferenced: boolean
}
/** Records refs whose actual ids differ from the events; with a push id, ends that push. */
export type ReconcileRefs = Command<"RefsReconciled", "ReconcileRefs"> & {
  /** `knownRefs(…).readVersion`, read before the repository was. */
  readonly readVersion: number
}
/** Changes the default branch. Idempotent for the same branch and core. */
export type ChangeDefaultBranch = Command<"DefaultBranchChanged", "ChangeDefaultBranch">
/** Allows a text that looks like a secret. Idempotent. */
export type AllowSecret = Command<"SecretAllowed", "AllowSecret">
/** Starts to scrub the repository; no push is accepted until it ends. Idempotent. */
export type StartScrub = Command<"ScrubStarted", "StartScrub">
/** Records the result of a scrub. Idempotent. */
export type FinishScrub = Command<"ScrubFinished", "FinishScrub">
/** Records that the repository is deleted. Idempotent. */
export type EraseRepository = Command<"RepositoryErased", "EraseRepository">

/** Every command of a company's code. */
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

export interface CodeRefused {
  readonly type: "CodeRefused"
  readonly at: number
  readonly code:
    "no_repository" | "too_many_refs" | "looked_too_early" | "being_cleaned" | "push_under_way"
  readonly message: string
}

export const CODE_REFUSAL_MESSAGES: Readonly<Record<CodeRefused["code"], string>> = {
  no_repository: "This company has no repository.",
  too_many_refs: `A repository has at most ${MAX_REFS} branches and tags; delete some first.`,
  being_cleaned: "The repository was being cleaned during the push. Push again.",
  push_under_way: "Another push to this repository is in progress. Try again in a minute.",
  looked_too_early: "The refs changed while they were read. Try again.",
}
