import { StatusBadge } from "./status-badge.tsx"

const STATUSES = {
  active: { tone: "good", word: "Active" },
  paused: { tone: "busy", word: "Paused" },
  deleted: { tone: "quiet", word: "Deleted" },
} as const

/** The status of a key. */
export function KeyStatusBadge({ status }: { readonly status: keyof typeof STATUSES }) {
  const { tone, word } = STATUSES[status]
  return <StatusBadge tone={tone}>{word}</StatusBadge>
}
