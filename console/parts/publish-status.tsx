import type { Schema } from "../api/api-client.ts"
import type { Tone } from "./status-badge.tsx"
import { StatusBadge } from "./status-badge.tsx"

type PublishState = Schema<"Publish">["status"]

/** What each state is called. */
export const PUBLISH_STATUS_LABELS: Readonly<Record<PublishState, string>> = {
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
export const IN_PROGRESS_STATUSES: ReadonlySet<PublishState> = new Set([
  "queued",
  "building",
  "uploading",
])

/** How far a publish has come. */
export function PublishStatusBadge({ status }: { readonly status: PublishState }) {
  return <StatusBadge tone={TONES[status]}>{PUBLISH_STATUS_LABELS[status]}</StatusBadge>
}
