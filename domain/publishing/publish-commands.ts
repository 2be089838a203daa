/** The commands of a company's publishes and their refusals. */
import type { PublishEvent, PublishFact } from "./publish-events.ts"
import type { PublishId } from "./ids.ts"

type Command<T extends PublishEvent["type"], Type extends string> = { readonly type: Type } & Omit<
  PublishFact<T>,
  "type" | "at"
>

/** Every command of a company's publishes; all are idempotent. */
export type PublishCommand =
  | Command<"PublishQueued", "QueuePublish">
  /** Makes sure that a publish that was not queued never is. */
  | Command<"PublishAbandoned", "AbandonPublish">
  | Command<"PublishRetried", "RetryPublish">
  | Command<"BuildStarted", "StartBuild">
  | Command<"BuildFinished", "FinishBuild">
  | Command<"ArtifactStored", "StoreArtifact">
  | { readonly type: "GoLive"; readonly publishId: PublishId }
  | Command<"PublishFailed", "FailPublish">
  | Command<"ArtifactRemoved", "RemoveArtifact">
  | Command<"PreviewReset", "ResetPreview">

export interface PublishRefused {
  readonly type: "PublishRefused"
  readonly at: number
  readonly code: "no_publish" | "has_ended" | "not_failed" | "not_built" | "is_served"
  readonly message: string
}

export const PUBLISH_REFUSAL_MESSAGES: Readonly<Record<PublishRefused["code"], string>> = {
  no_publish: "No publish has this id. List publishes to see their ids.",
  has_ended: "This publish has ended; start a new one.",
  not_failed: "Only a failed publish can be retried; this one has not failed.",
  not_built: "This publish has not been built yet.",
  is_served: "This publish is the current or the previous preview; it cannot be removed.",
}
