/** How far long work has come, for people: on standard error, so that output stays clean. */
import type { Terminal } from "./terminal.ts"
import { harmless } from "./terminal.ts"

/** Without a terminal a line is printed at most this often, milliseconds. */
const PLAIN_EVERY_MS = 3_000

/** Shows progress. */
export interface ProgressLine {
  /** Shows where the work is. */
  readonly report: (message: string) => void
  /** Clears what was shown, so that the next line begins at the margin. */
  readonly end: () => void
}

/**
 * One line that is rewritten on a terminal, plain lines now and then elsewhere.
 *
 * @param elapsedMs milliseconds since some moment, never going back
 */
export function progressLine(
  terminal: Terminal,
  elapsedMs: () => number = () => performance.now(),
): ProgressLine {
  if (terminal.errIsTTY) return rewrittenLine(terminal)
  let printedAt = Number.NEGATIVE_INFINITY
  return {
    report: (message) => {
      const now = elapsedMs()
      if (now - printedAt < PLAIN_EVERY_MS) return
      printedAt = now
      terminal.err(`${harmless(message)}\n`)
    },
    end: () => undefined,
  }
}

function rewrittenLine(terminal: Terminal): ProgressLine {
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
