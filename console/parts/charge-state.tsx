import { Status } from "./status.tsx"

const STATES = {
  open: { tone: "busy", word: "Open" },
  final: { tone: "good", word: "Final" },
  given_back: { tone: "quiet", word: "Given back" },
} as const

/** How a charge stands. */
export function ChargeState({ state }: { readonly state: keyof typeof STATES }) {
  const { tone, word } = STATES[state]
  return <Status tone={tone}>{word}</Status>
}
