/** Shows the progress of benchmarks, also in a log, because they take minutes. */
import type { ProgressLine, Terminal } from "../src/frame/operator/cli/terminal.ts"
import { escapeForTerminalOutput, openProgressLine } from "../src/frame/operator/cli/terminal.ts"

/** Without a terminal a line is printed at most this often. */
const PLAIN_EVERY_MS = 3_000

/** Returns a progress line: rewritten on a terminal, printed from time to time elsewhere. */
export function benchProgress(terminal: Terminal): ProgressLine {
  if (terminal.errIsTTY) return openProgressLine(terminal)
  let printedAt = Number.NEGATIVE_INFINITY
  return {
    report: (message) => {
      const now = performance.now()
      if (now - printedAt < PLAIN_EVERY_MS) return
      printedAt = now
      terminal.err(`${escapeForTerminalOutput(message)}\n`)
    },
    clear: () => undefined,
  }
}
