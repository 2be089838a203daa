import type { Schema } from "../../api/api-client.ts"
import { StatusBadge } from "../../parts/status-badge.tsx"

const STATUSES = {
  waiting: { tone: "busy", word: "Waiting for its registrar" },
  live: { tone: "good", word: "Live" },
  moved: { tone: "bad", word: "Moved away" },
} as const

/** How a connected domain stands. */
export function DomainStatusBadge({ status }: { readonly status: Schema<"DomainStatus"> }) {
  const { tone, word } = STATUSES[status]
  return <StatusBadge tone={tone}>{word}</StatusBadge>
}

const ADDRESSES = {
  waiting_dns: { tone: "busy", word: "Does not lead here yet" },
  waiting_certificate: { tone: "busy", word: "Waits for its first visit" },
  live: { tone: "good", word: "Live" },
  failed: { tone: "bad", word: "Leads elsewhere" },
} as const

/** How a web address of the company's app stands. */
export function AddressStatusBadge({
  status,
}: {
  readonly status: Schema<"AppAddress">["status"]
}) {
  const { tone, word } = ADDRESSES[status]
  return <StatusBadge tone={tone}>{word}</StatusBadge>
}
