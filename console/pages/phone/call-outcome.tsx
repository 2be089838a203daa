import type { Schema } from "../../api/api-client.ts"
import { StatusBadge } from "../../parts/status-badge.tsx"

const OUTCOMES = {
  answered: { tone: "good", word: "Answered" },
  voicemail: { tone: "busy", word: "Voicemail" },
  missed: { tone: "bad", word: "Missed" },
} as const

/** The outcomes of calls with their labels. */
export const CALL_OUTCOMES = Object.entries(OUTCOMES).map(
  ([value, { word }]) => [value, word] as const,
)

/** The outcome of a call, or its state while it lasts. */
export function CallOutcome({
  call,
}: {
  readonly call: Pick<Schema<"Call">, "status" | "outcome">
}) {
  const { status, outcome } = call
  if (outcome === null) {
    return <StatusBadge tone="busy">{status === "ringing" ? "Ringing" : "In progress"}</StatusBadge>
  }
  const { tone, word } = OUTCOMES[outcome]
  return <StatusBadge tone={tone}>{word}</StatusBadge>
}

/** Formats a duration: `1:05`. */
export function durationText(seconds: number): string {
  const [minutes, rest] = [Math.floor(seconds / 60), seconds % 60]
  return `${minutes}:${String(rest).padStart(2, "0")}`
}
