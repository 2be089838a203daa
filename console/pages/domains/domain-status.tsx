import type { Schema } from "../../api/company.ts"
import { Status } from "../../parts/status.tsx"

const STATUSES = {
  waiting: { tone: "busy", word: "Waiting for its registrar" },
  live: { tone: "good", word: "Live" },
  moved: { tone: "bad", word: "Moved away" },
} as const

/** How a connected domain stands. */
export function DomainStatus({ status }: { readonly status: Schema<"DomainStatus"> }) {
  const { tone, word } = STATUSES[status]
  return <Status tone={tone}>{word}</Status>
}

const ADDRESSES = {
  waiting_dns: { tone: "busy", word: "Does not lead here yet" },
  waiting_certificate: { tone: "busy", word: "Waits for its first visit" },
  live: { tone: "good", word: "Live" },
  failed: { tone: "bad", word: "Leads elsewhere" },
} as const

/** How a web address of the company's app stands. */
export function AddressStatus({ status }: { readonly status: Schema<"AppAddress">["status"] }) {
  const { tone, word } = ADDRESSES[status]
  return <Status tone={tone}>{word}</Status>
}
