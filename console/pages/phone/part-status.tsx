import type { Schema } from "../../api/api-client.ts"
import type { Tone } from "../../parts/status-badge.tsx"
import { StatusBadge } from "../../parts/status-badge.tsx"

export type RegistrationPartState = Schema<"RegistrationStatus">["overall"]

const STATUSES: Readonly<Record<RegistrationPartState, readonly [Tone, string]>> = {
  not_sent: ["quiet", "Not sent"],
  waiting: ["busy", "In review"],
  action_needed: ["bad", "Action needed"],
  rejected: ["bad", "Rejected"],
  approved: ["good", "Approved"],
}

/** The status of a part of the registration, as a badge. */
export function PartStatusBadge({ status }: { readonly status: RegistrationPartState }) {
  const [tone, word] = STATUSES[status]
  return <StatusBadge tone={tone}>{word}</StatusBadge>
}

/** A part of the registration, with the carriers' reasons. */
export interface RegistrationPart {
  readonly status: RegistrationPartState
  readonly reasons: readonly string[]
}
