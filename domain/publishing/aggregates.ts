/** What a company publishes, stream `publish-<companyId>`, and whether it can, stream `publishing`. */
import { onlyStreamOf, streamOf } from "../kernel/aggregate.ts"
import type { CompanyId } from "../kernel/ids.ts"
import type { PublishEvent } from "./publish-events.ts"
import { publishCodec } from "./publish-events.ts"
import { publishBytes, publishCheckpoint, publishing } from "./publishing.ts"
import type { SwitchEvent } from "./switches.ts"
import { switchCodec, switches } from "./switches.ts"

declare module "../kernel/facts.ts" {
  interface FactsByCategory {
    readonly publish: PublishEvent
    readonly publishing: SwitchEvent
  }
}

/** What a company publishes. */
export const PUBLISH = {
  category: "publish" as const,
  decider: publishing,
  codec: publishCodec,
  checkpoint: publishCheckpoint,
  bytesOf: publishBytes,
}

/** The stream of what a company publishes. */
export const publishesOf = (companyId: CompanyId) => streamOf(PUBLISH, companyId)

/** The stream of the switches. */
export const SWITCHES = onlyStreamOf({
  category: "publishing" as const,
  decider: switches,
  codec: switchCodec,
})
