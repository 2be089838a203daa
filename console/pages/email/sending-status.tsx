import type { Schema } from "../../api/api-client.ts"
import { StatusBadge } from "../../parts/status-badge.tsx"

const STATUSES = {
  pending: { tone: "busy", word: "Records missing" },
  verified: { tone: "good", word: "Verified" },
  failed: { tone: "bad", word: "Records are wrong" },
} as const

/** The status of a sending domain. */
export function SendingStatusBadge({ status }: { readonly status: Schema<"SendingStatus"> }) {
  const { tone, word } = STATUSES[status]
  return <StatusBadge tone={tone}>{word}</StatusBadge>
}
