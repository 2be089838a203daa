import { Status } from "./status.tsx"

const STATUSES = {
  active: { tone: "good", word: "Active" },
  paused: { tone: "busy", word: "Paused" },
  deleted: { tone: "quiet", word: "Deleted" },
} as const

/** How a key stands. */
export function KeyStatus({ status }: { readonly status: keyof typeof STATUSES }) {
  const { tone, word } = STATUSES[status]
  return <Status tone={tone}>{word}</Status>
}
