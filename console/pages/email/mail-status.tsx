import type { Tone } from "../../parts/status-badge.tsx"
import { StatusBadge } from "../../parts/status-badge.tsx"

const STATUSES: Readonly<Record<string, readonly [Tone, string]>> = {
  open: ["busy", "On its way"],
  deferred: ["busy", "Tried again"],
  delivered: ["good", "Delivered"],
  relayed: ["good", "At a relay"],
  unknown: ["busy", "Not known"],
  bounced: ["bad", "Bounced"],
  returned: ["bad", "Came back"],
  refused: ["bad", "Refused"],
}

/** What the status of a mail can be, and what it is called. */
export const MAIL_STATUSES = Object.entries(STATUSES).map(
  ([value, [, word]]) => [value, word] as const,
)

/** What became of a mail to one recipient. */
export function MailStatusBadge({ status }: { readonly status: string }) {
  const [tone, word] = STATUSES[status] ?? (["quiet", status] as const)
  return <StatusBadge tone={tone}>{word}</StatusBadge>
}
