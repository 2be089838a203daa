import type { Tone } from "../../parts/status-badge.tsx"
import { StatusBadge } from "../../parts/status-badge.tsx"

const STATUSES: Readonly<Record<string, readonly [Tone, string]>> = {
  open: ["busy", "Sending"],
  deferred: ["busy", "Retrying"],
  delivered: ["good", "Delivered"],
  relayed: ["good", "Relayed"],
  unknown: ["busy", "Unknown"],
  bounced: ["bad", "Bounced"],
  returned: ["bad", "Returned"],
  refused: ["bad", "Refused"],
}

/** The statuses of mails with their labels. */
export const MAIL_STATUSES = Object.entries(STATUSES).map(
  ([value, [, word]]) => [value, word] as const,
)

/** The status of a mail to one recipient. */
export function MailStatusBadge({ status }: { readonly status: string }) {
  const [tone, word] = STATUSES[status] ?? (["quiet", status] as const)
  return <StatusBadge tone={tone}>{word}</StatusBadge>
}
