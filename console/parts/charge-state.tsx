import { StatusBadge } from "./status-badge.tsx"

const STATES = {
  open: { tone: "busy", word: "Open" },
  final: { tone: "good", word: "Final" },
  given_back: { tone: "quiet", word: "Given back" },
} as const

/** How a charge stands. */
export function ChargeStateBadge({ state }: { readonly state: keyof typeof STATES }) {
  const { tone, word } = STATES[state]
  return <StatusBadge tone={tone}>{word}</StatusBadge>
}
