import type { Schema } from "../api/api-client.ts"
import type { Tone } from "./status-badge.tsx"
import { StatusBadge } from "./status-badge.tsx"

type PublishState = Schema<"Publish">["status"]

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

/** Statuses that still change. */
export const IN_PROGRESS_STATUSES: ReadonlySet<PublishState> = new Set([
  "queued",
  "building",
  "uploading",
])

/** The status of a publish. */
export function PublishStatusBadge({ status }: { readonly status: PublishState }) {
  return <StatusBadge tone={TONES[status]}>{PUBLISH_STATUS_LABELS[status]}</StatusBadge>
}
