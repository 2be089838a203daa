/**
 * Runs `npm run bench`. Exit codes: 0 measured (whether or not the targets were met), 1 a benchmark was dishonest, failed
 * or could not be written, 2 wrong usage, 130 interrupted.
 */
import { benchProgress } from "./progress.ts"
import { CannotWrite } from "../src/frame/operator/cli/out-file.ts"
import type { Terminal } from "../src/frame/operator/cli/terminal.ts"
import type { Benchmark, BenchmarkContext } from "./benchmark.ts"
import { InvalidMeasurement } from "./benchmark.ts"
import { openResultFiles, resultPath } from "./result-files.ts"
import type { SkippedMeasurement } from "./skipped.ts"
import { skippedLine } from "./skipped.ts"
import { readRunEnvironment } from "./run-environment.ts"
import type { BenchmarkResult } from "./run-benchmark.ts"
import { runBenchmark } from "./run-benchmark.ts"
import type { BenchArguments } from "./bench-arguments.ts"
import { parseBenchArguments } from "./bench-arguments.ts"
import { toRunDocument } from "./run-document.ts"
import { renderRun } from "./render-run.ts"

const EXIT_MEASURED = 0
const EXIT_FAILED = 1
const EXIT_INTERRUPTED = 130

/** Runs benchmarks with arguments such as `decide --json out.json`. Returns the exit code. */
export async function runBench(
  words: readonly string[],
  benchmarks: readonly Benchmark[],
  terminal: Terminal,
  signal: AbortSignal,
): Promise<number> {
  const order = parseBenchArguments(words, benchmarks, terminal)
  if (typeof order === "number") return order
  try {
    const outcome = await perform(order, terminal, signal)
    if (signal.aborted) {
      const kept =
        outcome === "nothing" ? "nothing was measured" : "what was measured before is kept"
      terminal.err(`Interrupted: ${kept}.\n`)
      return EXIT_INTERRUPTED
    }
    return outcome === "whole" ? EXIT_MEASURED : EXIT_FAILED
  } catch (error) {
    if (!(error instanceof CannotWrite)) throw error
    terminal.err(`${error.message}\n`)
    return EXIT_FAILED
  }
}

/** How much was saved: `part` if a benchmark did not finish or was dishonest. */
type SavedExtent = "whole" | "part" | "nothing"

/** Measures, shows and writes the results. */
async function perform(
  order: BenchArguments,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<SavedExtent> {
  const { json, folder, subject, leftOut } = order
  // A file that cannot be written is reported before the work, not after it.
  const files = await openResultFiles(json ?? (await resultPath(folder, subject)))
  const progress = benchProgress(terminal)
  try {
    const where = await readRunEnvironment()
    const { measured, faults } = await measureAll(order, {
      ...order,
      signal,
      report: progress.report,
    })
    progress.clear()
    for (const { text } of faults) if (text !== null) terminal.err(`${text}\n`)
    const isWhole = faults.length === 0
    if (measured.length === 0 && !isWhole) return "nothing"
    const run = toRunDocument(where, measured, [...leftOut, ...faults.map(({ fault }) => fault)])
    terminal.out(renderRun(run, terminal))
    const paths = await files.write(run)
    terminal.out(`\nWritten:\n${paths.map((path) => `  ${path}\n`).join("")}`)
    return isWhole ? "whole" : "part"
  } finally {
    progress.clear()
    await files.discard()
  }
}

interface MeasureOutcome {
  readonly measured: readonly BenchmarkResult[]
  /** The failed benchmarks; the results of the others are kept. */
  readonly faults: readonly { readonly fault: SkippedMeasurement; readonly text: string | null }[]
}

async function measureAll(
  { chosen }: BenchArguments,
  watch: BenchmarkContext,
): Promise<MeasureOutcome> {
  const measured: BenchmarkResult[] = []
  const faults: MeasureOutcome["faults"][number][] = []
  for (const [i, benchmark] of chosen.entries()) {
    const which = chosen.length === 1 ? "" : `${i + 1} of ${chosen.length}, `
    const report = (message: string) => watch.report(`${which}${message}`)
    const { name } = benchmark
    if (watch.signal.aborted) {
      faults.push(interruptedResult(name, "not begun"))
      continue
    }
    try {
      measured.push(await runBenchmark(benchmark, { ...watch, report }))
    } catch (error) {
      if (watch.signal.aborted && !(error instanceof InvalidMeasurement)) {
        faults.push(interruptedResult(name, "interrupted before its first round was over"))
        continue
      }
      if (!(error instanceof Error)) throw error
      const fault: SkippedMeasurement = { benchmark: name, reason: "fault", message: error.message }
      faults.push({ fault, text: faultText(skippedLine(fault), error) })
    }
  }
  return { measured, faults }
}

/** A benchmark skipped by the interruption, which is reported once, at the end. */
function interruptedResult(benchmark: string, message: string): MeasureOutcome["faults"][number] {
  return { fault: { benchmark, reason: "interrupted", message }, text: null }
}

/** Describes a fault; for a fault of the code with its location. */
function faultText(fault: string, error: Error): string {
  if (error instanceof InvalidMeasurement) return `Not honest: ${fault}.`
  return error instanceof CannotWrite ? fault : `${fault}\n${error.stack}`
}
