import type { Box } from "../api/code-answers.ts"
import { StatusBadge } from "./status-badge.tsx"

/** What each state is called. */
export const BOX_STATUS_LABELS: Readonly<Record<Box["status"], string>> = {
  starting: "Starting",
  running: "Running",
  stopped: "Stopped",
  failed: "Failed",
}

const TONES = { starting: "busy", running: "good", stopped: "quiet", failed: "bad" } as const

/** How a box stands. */
export function BoxStatusBadge({ status }: Pick<Box, "status">) {
  return <StatusBadge tone={TONES[status]}>{BOX_STATUS_LABELS[status]}</StatusBadge>
}
