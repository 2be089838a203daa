import type { Schema } from "../../api/api-client.ts"
import { StatusBadge } from "../../parts/status-badge.tsx"

const STATUSES = {
  waiting: { tone: "busy", word: "Waiting for its registrar" },
  live: { tone: "good", word: "Live" },
  moved: { tone: "bad", word: "Moved away" },
} as const

/** The status of a connected domain. */
export function DomainStatusBadge({ status }: { readonly status: Schema<"DomainStatus"> }) {
  const { tone, word } = STATUSES[status]
  return <StatusBadge tone={tone}>{word}</StatusBadge>
}

const ADDRESSES = {
  waiting_dns: { tone: "busy", word: "Does not lead here yet" },
  waiting_certificate: { tone: "busy", word: "Waiting for its first visit" },
  live: { tone: "good", word: "Live" },
  failed: { tone: "bad", word: "Leads elsewhere" },
} as const

/** The status of a web address of the company's app. */
export function AddressStatusBadge({
  status,
}: {
  readonly status: Schema<"AppAddress">["status"]
}) {
  const { tone, word } = ADDRESSES[status]
  return <StatusBadge tone={tone}>{word}</StatusBadge>
}
