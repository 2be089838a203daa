/** What can be asked of what a company publishes, and why it is refused. */
import type { PublishEvent, PublishFact } from "./publish-events.ts"
import type { PublishId } from "./ids.ts"

type Command<T extends PublishEvent["type"], Type extends string> = { readonly type: Type } & Omit<
  PublishFact<T>,
  "type" | "at"
>

/** What can be asked. Each again: nothing new. */
export type PublishCommand =
  | Command<"PublishQueued", "QueuePublish">
  /** Makes sure that one which was not queued never is. */
  | Command<"PublishAbandoned", "AbandonPublish">
  | Command<"PublishRetried", "RetryPublish">
  | Command<"BuildStarted", "StartBuild">
  | Command<"BuildFinished", "FinishBuild">
  | Command<"ArtifactStored", "StoreArtifact">
  | { readonly type: "GoLive"; readonly publishId: PublishId }
  | Command<"PublishFailed", "FailPublish">
  | Command<"ArtifactRemoved", "RemoveArtifact">
  | Command<"PreviewReset", "ResetPreview">

/** A command was refused. */
export interface PublishRefused {
  readonly type: "PublishRefused"
  readonly at: number
  readonly code: "no_publish" | "has_ended" | "not_failed" | "not_built" | "is_served"
  readonly message: string
}

/** What people are told of each. */
export const PUBLISH_REFUSAL_MESSAGES: Readonly<Record<PublishRefused["code"], string>> = {
  no_publish: "There is no such publish.",
  has_ended: "This publish has ended.",
  not_failed: "Only a publish that failed can be tried again.",
  not_built: "Nothing was built of it so far.",
  is_served: "The preview shows it, or showed it last.",
}
