/** What a company publishes, stream `publish-<companyId>`, and whether it can, stream `publishing`. */
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

/** What a company publishes. */
export const PUBLISH_AGGREGATE = {
  category: "publish" as const,
  decider: publishingDecider,
  codec: publishCodec,
  checkpoint: publishCheckpoint,
  bytesOf: publishBytes,
}

/** The stream of what a company publishes. */
export const publishStreamOf = (companyId: CompanyId) => streamOf(PUBLISH_AGGREGATE, companyId)

/** The stream of the switches. */
export const PUBLISHING_SWITCHES_STREAM = singletonStreamOf({
  category: "publishing" as const,
  decider: publishingSwitchesDecider,
  codec: publishingSwitchCodec,
})
