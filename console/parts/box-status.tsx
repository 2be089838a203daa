import type { Box } from "../api/code-answers.ts"
import { StatusBadge } from "./status-badge.tsx"

export const BOX_STATUS_LABELS: Readonly<Record<Box["status"], string>> = {
  starting: "Starting",
  running: "Running",
  stopped: "Stopped",
  failed: "Failed",
}

const TONES = { starting: "busy", running: "good", stopped: "quiet", failed: "bad" } as const

/** The status of a box. */
export function BoxStatusBadge({ status }: Pick<Box, "status">) {
  return <StatusBadge tone={TONES[status]}>{BOX_STATUS_LABELS[status]}</StatusBadge>
}
