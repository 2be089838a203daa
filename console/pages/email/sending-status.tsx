import type { Schema } from "../../api/company.ts"
import { Status } from "../../parts/status.tsx"

const STATUSES = {
  pending: { tone: "busy", word: "Records not all seen" },
  verified: { tone: "good", word: "Verified" },
  failed: { tone: "bad", word: "Records are wrong" },
} as const

/** How a sending domain stands. */
export function SendingStatus({ status }: { readonly status: Schema<"SendingStatus"> }) {
  const { tone, word } = STATUSES[status]
  return <Status tone={tone}>{word}</Status>
}
