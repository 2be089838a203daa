import type { Schema } from "../api/company.ts"
import type { Tone } from "./status.tsx"
import { Status } from "./status.tsx"

type PublishState = Schema<"Publish">["status"]

/** What each state is called. */
export const PUBLISH_WORDS: Readonly<Record<PublishState, string>> = {
  queued: "Queued",
  building: "Building",
  uploading: "Uploading",
  live: "Live",
  replaced: "Replaced",
  failed: "Failed",
}

const TONES: Readonly<Record<PublishState, Tone>> = {
  queued: "busy",
  building: "busy",
  uploading: "busy",
  live: "good",
  replaced: "quiet",
  failed: "bad",
}

/** States that do not last. */
export const IS_GOING: ReadonlySet<PublishState> = new Set(["queued", "building", "uploading"])

/** How far a publish has come. */
export function PublishStatus({ status }: { readonly status: PublishState }) {
  return <Status tone={TONES[status]}>{PUBLISH_WORDS[status]}</Status>
}
