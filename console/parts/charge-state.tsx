import { StatusBadge } from "./status-badge.tsx"

const STATES = {
  open: { tone: "busy", word: "Pending" },
  final: { tone: "good", word: "Settled" },
  given_back: { tone: "quiet", word: "Refunded" },
} as const

/** The state of a charge. */
export function ChargeStateBadge({ state }: { readonly state: keyof typeof STATES }) {
  const { tone, word } = STATES[state]
  return <StatusBadge tone={tone}>{word}</StatusBadge>
}
