import { singletonStreamOf, streamOf } from "../kernel/aggregate.ts"
import type { CompanyId } from "../kernel/ids.ts"
import type { AppEvent } from "./app-events.ts"
import { appCodec } from "./app-events.ts"
import { appDecider, appBytes, appCheckpoint } from "./app.ts"
import type { ReleaseEvent } from "./releases.ts"
import { releaseCodec, releasesDecider } from "./releases.ts"

declare module "../kernel/facts.ts" {
  interface FactsByCategory {
    readonly app: AppEvent
    readonly releases: ReleaseEvent
  }
}

/** One installed app of a company. */
export const APP_AGGREGATE = {
  category: "app" as const,
  decider: appDecider,
  codec: appCodec,
  checkpoint: appCheckpoint,
  bytesOf: appBytes,
}

/** Names the stream `app-<companyId>-<installId>`. */
export const appStreamOf = (companyId: CompanyId, installId: string) =>
  streamOf(APP_AGGREGATE, companyId, installId)

/** The stream `releases` of the app's releases. */
export const RELEASES_STREAM = singletonStreamOf({
  category: "releases" as const,
  decider: releasesDecider,
  codec: releaseCodec,
})
