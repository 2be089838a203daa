import type { Schema } from "../../api/api-client.ts"
import { StatusBadge } from "../../parts/status-badge.tsx"

const STATUSES = {
  pending: { tone: "busy", word: "Records not all seen" },
  verified: { tone: "good", word: "Verified" },
  failed: { tone: "bad", word: "Records are wrong" },
} as const

/** How a sending domain stands. */
export function SendingStatusBadge({ status }: { readonly status: Schema<"SendingStatus"> }) {
  const { tone, word } = STATUSES[status]
  return <StatusBadge tone={tone}>{word}</StatusBadge>
}
