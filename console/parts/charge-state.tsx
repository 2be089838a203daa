import { StatusBadge } from "./status-badge.tsx"

const STATES = {
  pending: { tone: "busy", word: "Pending" },
  settled: { tone: "good", word: "Settled" },
  refunded: { tone: "quiet", word: "Refunded" },
} as const

/** The state of a charge. */
export function ChargeStateBadge({ state }: { readonly state: keyof typeof STATES }) {
  const { tone, word } = STATES[state]
  return <StatusBadge tone={tone}>{word}</StatusBadge>
}
