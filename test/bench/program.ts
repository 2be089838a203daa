/**
 * What becomes of the words of `npm run bench`. Exit codes: 0 measured (whether or not the targets
 * were met), 1 not honest or not written, 2 wrong usage, 130 interrupted.
 */
import { CannotWrite } from "../../src/cli/out-file.ts"
import { progressLine } from "../../src/cli/progress.ts"
import type { Terminal } from "../../src/cli/terminal.ts"
import type { Benchmark, Setting } from "./benchmark.ts"
import { Dishonest } from "./benchmark.ts"
import { openResultFiles, placeIn } from "./files.ts"
import { circumstances } from "./machine.ts"
import type { Measured } from "./measure.ts"
import { measure } from "./measure.ts"
import type { Order } from "./order.ts"
import { parseOrder } from "./order.ts"
import { documentOf } from "./report.ts"
import { renderRun } from "./table.ts"

const MEASURED = 0
const FAILED = 1
const INTERRUPTED = 130

/** Runs benchmarks by words such as `decide --json out.json`. Answers the exit code. */
export async function runBench(
  words: readonly string[],
  benchmarks: readonly Benchmark[],
  terminal: Terminal,
  signal: AbortSignal,
): Promise<number> {
  const order = parseOrder(words, benchmarks, terminal)
  if (typeof order === "number") return order
  try {
    await perform(order, terminal, signal)
    return MEASURED
  } catch (error) {
    if (signal.aborted) {
      terminal.err("Interrupted: nothing was kept.\n")
      return INTERRUPTED
    }
    if (!(error instanceof Dishonest || error instanceof CannotWrite)) throw error
    const isDishonest = error instanceof Dishonest
    terminal.err(isDishonest ? `Not honest: ${error.message}.\n` : `${error.message}\n`)
    return FAILED
  }
}

async function perform(order: Order, terminal: Terminal, signal: AbortSignal): Promise<void> {
  const { json, folder, subject, leftOut } = order
  // A file that cannot be written is told now and not after the work.
  const files = await openResultFiles(json ?? (await placeIn(folder, subject)))
  const progress = progressLine(terminal)
  try {
    const where = await circumstances()
    const measured = await measureAll(order, { ...order, signal, report: progress.report })
    progress.end()
    const run = documentOf(where, measured, leftOut)
    terminal.out(renderRun(run, terminal))
    const paths = await files.keep(run)
    terminal.out(`\nWritten:\n${paths.map((path) => `  ${path}\n`).join("")}`)
  } finally {
    progress.end()
    await files.discard()
  }
}

async function measureAll({ chosen }: Order, watch: Setting): Promise<readonly Measured[]> {
  const measured: Measured[] = []
  for (const [i, benchmark] of chosen.entries()) {
    const which = chosen.length === 1 ? "" : `${i + 1} of ${chosen.length}, `
    const report = (message: string) => watch.report(`${which}${message}`)
    measured.push(await measure(benchmark, { ...watch, report }))
  }
  return measured
}
