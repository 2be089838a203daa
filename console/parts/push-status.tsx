import type { PushRecord } from "../api/code-answers.ts"
import { StatusBadge } from "./status-badge.tsx"

const STATUSES = {
  accepted: { tone: "busy", word: "In progress" },
  landed: { tone: "good", word: "Completed" },
  other: { tone: "busy", word: "Partly completed" },
  refused: { tone: "bad", word: "Refused" },
} as const

/** The status of a push. */
export function PushStatusBadge({ status }: Pick<PushRecord, "status">) {
  const { tone, word } = STATUSES[status]
  return <StatusBadge tone={tone}>{word}</StatusBadge>
}
