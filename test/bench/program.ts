/**
 * The words of `npm run bench` and what becomes of them. Exit codes: 0 measured (whether or not the
 * targets were met), 1 not honest or not written, 2 wrong usage, 130 interrupted.
 */
import { Argument, Command, CommanderError, Option } from "commander"
import type { OutFile } from "../../src/cli/out-file.ts"
import { CannotWrite, openOutFile } from "../../src/cli/out-file.ts"
import { progressLine } from "../../src/cli/progress.ts"
import type { Terminal } from "../../src/cli/terminal.ts"
import type { Benchmark, Setting, StoreName } from "./benchmark.ts"
import { Dishonest, SERVER_VARIABLE, STORES } from "./benchmark.ts"
import { circumstances } from "./machine.ts"
import type { Measured } from "./measure.ts"
import { measure } from "./measure.ts"
import { documentOf, renderRun } from "./report.ts"

const MEASURED = 0
const FAILED = 1
const WRONG_USAGE = 2
const INTERRUPTED = 130

/** What is to be done. */
interface Order {
  readonly chosen: readonly Benchmark[]
  readonly store: StoreName
  /** The benchmarks that cannot be run, each with the reason. */
  readonly leftOut: readonly string[]
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
    .addOption(
      new Option("--store <name>", "where the events live").choices(STORES).default("postgres"),
    )
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
  const { json = null, store } = program.opts<{ json?: string; store: StoreName }>()
  const isNamed = ({ name }: Benchmark) => program.args.includes(name)
  const named = program.args.length === 0 ? benchmarks : benchmarks.filter(isNamed)
  const reasons = new Map(named.map((one) => [one, whyNot(one, store)]))
  const chosen = named.filter((one) => reasons.get(one) === null)
  const leftOut = [...reasons].flatMap(([{ name }, why]) => (why === null ? [] : `${name}: ${why}`))
  return { chosen, store, leftOut, json }
}

/** Why a benchmark cannot be run on a store; null where it can. */
function whyNot({ stores }: Benchmark, store: StoreName): string | null {
  if (stores.length === 0) return null
  if (!stores.includes(store)) return `it is not measured on ${store}`
  const isServerMissing = store === "eventstoredb" && (process.env[SERVER_VARIABLE] ?? "") === ""
  return isServerMissing ? `${SERVER_VARIABLE} names no server of EventStoreDB` : null
}

function listOf(benchmarks: readonly Benchmark[]): string {
  return benchmarks.map(({ name, title }) => `  ${name}: ${title}\n`).join("")
}

async function perform(
  { chosen, store, leftOut, json }: Order,
  terminal: Terminal,
  signal: AbortSignal,
) {
  // A file that cannot be written is told now and not after the work.
  const file = json === null ? null : await openOutFile(json)
  const progress = progressLine(terminal)
  try {
    const where = await circumstances()
    const measured = await measureAll(chosen, { signal, store, report: progress.report })
    progress.end()
    terminal.out(renderRun(where, measured, terminal))
    if (leftOut.length > 0)
      terminal.out(`\nLeft out:\n${leftOut.map((one) => `  ${one}\n`).join("")}`)
    if (file !== null) await keep(file, documentOf(where, measured))
  } finally {
    progress.end()
    await file?.discard()
  }
}

async function measureAll(chosen: readonly Benchmark[], watch: Setting) {
  const measured: Measured[] = []
  for (const benchmark of chosen) measured.push(await measure(benchmark, watch))
  return measured
}

async function keep(file: OutFile, document: unknown): Promise<void> {
  await file.write(`${JSON.stringify(document, null, 2)}\n`)
  await file.keep()
}
