/** What a company's preview serves. */
import type { PublishId } from "./ids.ts"
import type { ArtifactKind } from "./publish-events.ts"

/** A publish that is live. */
export interface LivePublish {
  readonly publishId: PublishId
  readonly kind: ArtifactKind
}
