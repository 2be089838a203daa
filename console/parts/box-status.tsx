import type { Box } from "../api/code-answers.ts"
import { Status } from "./status.tsx"

/** What each state is called. */
export const BOX_WORDS: Readonly<Record<Box["status"], string>> = {
  starting: "Starting",
  running: "Running",
  stopped: "Stopped",
  failed: "Failed",
}

const TONES = { starting: "busy", running: "good", stopped: "quiet", failed: "bad" } as const

/** How a box stands. */
export function BoxStatus({ status }: Pick<Box, "status">) {
  return <Status tone={TONES[status]}>{BOX_WORDS[status]}</Status>
}
