/**
 * The words of `npm run bench` and what becomes of them. Exit codes: 0 measured (whether or not the
 * targets were met), 1 not honest or not written, 2 wrong usage, 130 interrupted.
 */
import { Argument, Command, CommanderError } from "commander"
import type { OutFile } from "../../src/cli/out-file.ts"
import { CannotWrite, openOutFile } from "../../src/cli/out-file.ts"
import { progressLine } from "../../src/cli/progress.ts"
import type { Terminal } from "../../src/cli/terminal.ts"
import type { Benchmark } from "./benchmark.ts"
import { Dishonest } from "./benchmark.ts"
import { circumstances } from "./machine.ts"
import type { Measured, Watch } from "./measure.ts"
import { measure } from "./measure.ts"
import { documentOf, renderRun } from "./report.ts"

const MEASURED = 0
const FAILED = 1
const WRONG_USAGE = 2
const INTERRUPTED = 130

/** What is to be done. */
interface Order {
  readonly chosen: readonly Benchmark[]
  /** Where the JSON document goes; null for nowhere. */
  readonly json: string | null
}

/** Runs benchmarks by words such as `decide --json out.json`. Answers the exit code. */
export async function runBench(
  words: readonly string[],
  benchmarks: readonly Benchmark[],
  terminal: Terminal,
  signal: AbortSignal,
): Promise<number> {
  const order = parse(words, benchmarks, terminal)
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

/** Reads the words; answers an exit code where there is nothing to do. */
function parse(
  words: readonly string[],
  benchmarks: readonly Benchmark[],
  terminal: Terminal,
): Order | number {
  const names = benchmarks.map(({ name }) => name)
  const program = new Command("npm run bench --")
    .description("Measures how fast the ledger is, as ratios taken side by side.")
    .addArgument(new Argument("[names...]", "what to run; default everything").choices(names))
    .option("--json <file>", "also write everything that was measured to this file")
    .addHelpText("after", `\nBenchmarks:\n${listOf(benchmarks)}`)
    .exitOverride()
    .configureHelp({ helpWidth: terminal.columns })
    .configureOutput({ writeOut: terminal.out, writeErr: terminal.err })
  try {
    program.parse([...words], { from: "user" })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    if (error.exitCode === 0) return MEASURED
    terminal.err(`\nBenchmarks:\n${listOf(benchmarks)}`)
    return WRONG_USAGE
  }
  const { json = null } = program.opts<{ json?: string }>()
  const isChosen = ({ name }: Benchmark) => program.args.includes(name)
  return { chosen: program.args.length === 0 ? benchmarks : benchmarks.filter(isChosen), json }
}

function listOf(benchmarks: readonly Benchmark[]): string {
  return benchmarks.map(({ name, title }) => `  ${name}: ${title}\n`).join("")
}

async function perform({ chosen, json }: Order, terminal: Terminal, signal: AbortSignal) {
  // A file that cannot be written is told now and not after the work.
  const file = json === null ? null : await openOutFile(json)
  const progress = progressLine(terminal)
  try {
    const where = await circumstances()
    const measured = await measureAll(chosen, { signal, report: progress.report })
    progress.end()
    terminal.out(renderRun(where, measured, terminal))
    if (file !== null) await keep(file, documentOf(where, measured))
  } finally {
    progress.end()
    await file?.discard()
  }
}

async function measureAll(chosen: readonly Benchmark[], watch: Watch) {
  const measured: Measured[] = []
  for (const benchmark of chosen) measured.push(await measure(benchmark, watch))
  return measured
}

async function keep(file: OutFile, document: unknown): Promise<void> {
  await file.write(`${JSON.stringify(document, null, 2)}\n`)
  await file.keep()
}
