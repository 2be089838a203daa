import type { Schema } from "../../api/company.ts"
import type { Tone } from "../../parts/status.tsx"
import { Status } from "../../parts/status.tsx"

/** How a part of the registration of texting stands. */
export type PartState = Schema<"RegistrationStatus">["overall"]

const STATUSES: Readonly<Record<PartState, readonly [Tone, string]>> = {
  not_sent: ["quiet", "Not sent"],
  waiting: ["busy", "In review"],
  action_needed: ["bad", "Action needed"],
  rejected: ["bad", "Rejected"],
  approved: ["good", "Approved"],
}

/** How a part of the registration of texting stands, in a word. */
export function PartStatus({ status }: { readonly status: PartState }) {
  const [tone, word] = STATUSES[status]
  return <Status tone={tone}>{word}</Status>
}

/** How a part stands, and what carriers said of it. */
export interface Part {
  readonly status: PartState
  readonly reasons: readonly string[]
}
