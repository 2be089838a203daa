/**
 * What becomes of the words of `npm run bench`. Exit codes: 0 measured (whether or not the targets
 * were met), 1 something was not honest, broke or could not be written, 2 wrong usage, 130 interrupted.
 */
import { benchProgress } from "./progress.ts"
import { CannotWrite } from "../src/frame/operator/cli/out-file.ts"
import type { Terminal } from "../src/frame/operator/cli/terminal.ts"
import type { Benchmark, Setting } from "./benchmark.ts"
import { Dishonest } from "./benchmark.ts"
import { openResultFiles, placeIn } from "./files.ts"
import type { LeftOut } from "./left-out.ts"
import { leftOutLine } from "./left-out.ts"
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
    const outcome = await perform(order, terminal, signal)
    if (signal.aborted) {
      const kept =
        outcome === "nothing" ? "nothing was measured" : "what was measured before is kept"
      terminal.err(`Interrupted: ${kept}.\n`)
      return INTERRUPTED
    }
    return outcome === "whole" ? MEASURED : FAILED
  } catch (error) {
    if (!(error instanceof CannotWrite)) throw error
    terminal.err(`${error.message}\n`)
    return FAILED
  }
}

/** What was kept: a part where anything came to no end or was not honest. */
type Kept = "whole" | "part" | "nothing"

/** Measures, shows and writes what was measured. */
async function perform(order: Order, terminal: Terminal, signal: AbortSignal): Promise<Kept> {
  const { json, folder, subject, leftOut } = order
  // A file that cannot be written is told now and not after the work.
  const files = await openResultFiles(json ?? (await placeIn(folder, subject)))
  const progress = benchProgress(terminal)
  try {
    const where = await circumstances()
    const { measured, faults } = await measureAll(order, {
      ...order,
      signal,
      report: progress.report,
    })
    progress.end()
    for (const { told } of faults) if (told !== null) terminal.err(`${told}\n`)
    const isWhole = faults.length === 0
    if (measured.length === 0 && !isWhole) return "nothing"
    const run = documentOf(where, measured, [...leftOut, ...faults.map(({ fault }) => fault)])
    terminal.out(renderRun(run, terminal))
    const paths = await files.keep(run)
    terminal.out(`\nWritten:\n${paths.map((path) => `  ${path}\n`).join("")}`)
    return isWhole ? "whole" : "part"
  } finally {
    progress.end()
    await files.discard()
  }
}

interface Attempts {
  readonly measured: readonly Measured[]
  /** What is left out for it: the minutes that the others took are not lost with it. */
  readonly faults: readonly { readonly fault: LeftOut; readonly told: string | null }[]
}

async function measureAll({ chosen }: Order, watch: Setting): Promise<Attempts> {
  const measured: Measured[] = []
  const faults: Attempts["faults"][number][] = []
  for (const [i, benchmark] of chosen.entries()) {
    const which = chosen.length === 1 ? "" : `${i + 1} of ${chosen.length}, `
    const report = (message: string) => watch.report(`${which}${message}`)
    const { name } = benchmark
    if (watch.signal.aborted) {
      faults.push(interruptedOf(name, "not begun"))
      continue
    }
    try {
      measured.push(await measure(benchmark, { ...watch, report }))
    } catch (error) {
      if (watch.signal.aborted && !(error instanceof Dishonest)) {
        faults.push(interruptedOf(name, "interrupted before its first round was over"))
        continue
      }
      if (!(error instanceof Error)) throw error
      const fault: LeftOut = { benchmark: name, reason: "fault", message: error.message }
      faults.push({ fault, told: toldOf(leftOutLine(fault), error) })
    }
  }
  return { measured, faults }
}

/** What is left out because the run was interrupted: that is said once, at the end. */
function interruptedOf(benchmark: string, message: string): Attempts["faults"][number] {
  return { fault: { benchmark, reason: "interrupted", message }, told: null }
}

/** A fault as it is told: where the code is to blame, with the place in it. */
function toldOf(fault: string, error: Error): string {
  if (error instanceof Dishonest) return `Not honest: ${fault}.`
  return error instanceof CannotWrite ? fault : `${fault}\n${error.stack}`
}
