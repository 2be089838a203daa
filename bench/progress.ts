/** How far the benchmarks are: they take minutes, so that a log of them has it as well. */
import type { ProgressLine, Terminal } from "../src/frame/operator/cli/terminal.ts"
import { escapeForTerminalOutput, openProgressLine } from "../src/frame/operator/cli/terminal.ts"

/** Without a terminal a line is printed at most this often, milliseconds. */
const PLAIN_EVERY_MS = 3_000

/** One line that is rewritten on a terminal, plain lines now and then elsewhere. */
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
