import type { PushRecord } from "../api/code-answers.ts"
import { StatusBadge } from "./status-badge.tsx"

const STATUSES = {
  accepted: { tone: "busy", word: "On its way" },
  landed: { tone: "good", word: "Landed" },
  other: { tone: "busy", word: "Landed in part" },
  refused: { tone: "bad", word: "Refused" },
} as const

/** What became of a push. */
export function PushStatusBadge({ status }: Pick<PushRecord, "status">) {
  const { tone, word } = STATUSES[status]
  return <StatusBadge tone={tone}>{word}</StatusBadge>
}
