/** How far long work has come, for people: on standard error, so that output stays clean. */
import type { Terminal } from "./terminal.ts"
import { harmless } from "./terminal.ts"

/** Shows progress. */
export interface ProgressLine {
  /** Shows where the work is. */
  readonly report: (message: string) => void
  /** Clears what was shown, so that the next line begins at the margin. */
  readonly end: () => void
}

/** One line that is rewritten on a terminal; nothing elsewhere, where it would stand among faults. */
export function progressLine(terminal: Terminal): ProgressLine {
  if (!terminal.errIsTTY) return { report: () => undefined, end: () => undefined }
  let isShown = false
  return {
    report: (message) => {
      const line = harmless(message).replaceAll("\n", " ")
      // The last column stays free: a full line would wrap and could not be cleared.
      terminal.err(`\r\u001b[2K${line.slice(0, Math.max(1, terminal.columns - 1))}`)
      isShown = true
    },
    end: () => {
      if (isShown) terminal.err("\r\u001b[2K")
      isShown = false
    },
  }
}
