import { singletonStreamOf, streamOf } from "../kernel/aggregate.ts"
import type { CompanyId } from "../kernel/ids.ts"
import type { PublishEvent } from "./publish-events.ts"
import { publishCodec } from "./publish-events.ts"
import { publishBytes, publishCheckpoint, publishingDecider } from "./publishing.ts"
import type { PublishingSwitchEvent } from "./publishing-switches.ts"
import { publishingSwitchCodec, publishingSwitchesDecider } from "./publishing-switches.ts"

declare module "../kernel/facts.ts" {
  interface FactsByCategory {
    readonly publish: PublishEvent
    readonly publishing: PublishingSwitchEvent
  }
}

export const PUBLISH_AGGREGATE = {
  category: "publish" as const,
  decider: publishingDecider,
  codec: publishCodec,
  checkpoint: publishCheckpoint,
  bytesOf: publishBytes,
}

/** Names the stream `publish-<companyId>`. */
export const publishStreamOf = (companyId: CompanyId) => streamOf(PUBLISH_AGGREGATE, companyId)

/** The stream `publishing` of the switches. */
export const PUBLISHING_SWITCHES_STREAM = singletonStreamOf({
  category: "publishing" as const,
  decider: publishingSwitchesDecider,
  codec: publishingSwitchCodec,
})
