import type { Push } from "../api/code-answers.ts"
import { Status } from "./status.tsx"

const STATUSES = {
  accepted: { tone: "busy", word: "On its way" },
  landed: { tone: "good", word: "Landed" },
  other: { tone: "busy", word: "Landed in part" },
  refused: { tone: "bad", word: "Refused" },
} as const

/** What became of a push. */
export function PushStatus({ status }: Pick<Push, "status">) {
  const { tone, word } = STATUSES[status]
  return <Status tone={tone}>{word}</Status>
}
