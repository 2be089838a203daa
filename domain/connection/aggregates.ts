/** Installed apps, stream `app-<companyId>-<installId>`, and their releases, stream `releases`. */
import { onlyStreamOf, streamOf } from "../kernel/aggregate.ts"
import type { CompanyId } from "../kernel/ids.ts"
import type { AppEvent } from "./app-events.ts"
import { appCodec } from "./app-events.ts"
import { app, appBytes, appCheckpoint } from "./app.ts"
import type { ReleaseEvent } from "./releases.ts"
import { releaseCodec, releases } from "./releases.ts"

declare module "../kernel/facts.ts" {
  interface FactsByCategory {
    readonly app: AppEvent
    readonly releases: ReleaseEvent
  }
}

/** One installed app of a company. */
export const APP = {
  category: "app" as const,
  decider: app,
  codec: appCodec,
  checkpoint: appCheckpoint,
  bytesOf: appBytes,
}

/** The stream of an installed app. */
export const appOf = (companyId: CompanyId, installId: string) =>
  streamOf(APP, companyId, installId)

/** The stream of the app's releases. */
export const RELEASES = onlyStreamOf({
  category: "releases" as const,
  decider: releases,
  codec: releaseCodec,
})
