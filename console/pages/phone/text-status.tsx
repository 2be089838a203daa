import type { Schema } from "../../api/api-client.ts"
import type { Tone } from "../../parts/status-badge.tsx"
import { StatusBadge } from "../../parts/status-badge.tsx"

const STATUSES: Readonly<Record<Schema<"Message">["status"], readonly [Tone, string]>> = {
  queued: ["busy", "Queued"],
  sent: ["busy", "Sent"],
  delivered: ["good", "Delivered"],
  failed: ["bad", "Failed"],
  received: ["good", "Received"],
}

/** The statuses of texts with their labels. */
export const TEXT_STATUSES = Object.entries(STATUSES).map(
  ([value, [, word]]) => [value, word] as const,
)

/** The status of a text, with the carrier's code if it failed. */
export function TextStatusBadge({
  text,
}: {
  readonly text: Pick<Schema<"Message">, "status" | "errorCode">
}) {
  const [tone, word] = STATUSES[text.status]
  return (
    <StatusBadge tone={tone}>
      {text.errorCode === null ? word : `${word}: ${text.errorCode}`}
    </StatusBadge>
  )
}
