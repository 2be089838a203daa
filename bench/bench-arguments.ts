/** Parses the arguments of `npm run bench`. */
import { Argument, Command, CommanderError, InvalidArgumentError, Option } from "commander"
import type { Terminal } from "../src/frame/operator/cli/terminal.ts"
import type { Benchmark, StoreName } from "./benchmark.ts"
import { SERVER_VARIABLE, STORES } from "./benchmark.ts"
import type { SkippedMeasurement } from "./skipped.ts"
import { limitToSize } from "./filter-benchmark.ts"

const ALL_CURVES = "growth"
/** Default folder of results and data sets; git ignores both. */
const RESULTS_FOLDER = "bench-results"
const DATA_FOLDER = "bench-data"
const DONE = 0
const WRONG_USAGE = 2

export interface BenchArguments {
  readonly chosen: readonly Benchmark[]
  readonly store: StoreName
  /** Measurements that are not possible, with the reasons. */
  readonly leftOut: readonly SkippedMeasurement[]
  /** Path of the document; null for a new file in `folder`. */
  readonly json: string | null
  readonly folder: string
  /** Name of the file in the folder. */
  readonly subject: string
  /** Maximum size of a curve's points. */
  readonly maxSize: number
  readonly dataDir: string
}

interface Options {
  readonly store: StoreName
  readonly json?: string
  readonly out: string
  readonly data: string
  readonly most: number
}

/** Parses the arguments; returns an exit code if there is nothing to do. */
export function parseBenchArguments(
  words: readonly string[],
  benchmarks: readonly Benchmark[],
  terminal: Terminal,
): BenchArguments | number {
  const program = programOf(benchmarks, terminal)
  try {
    program.parse([...words], { from: "user" })
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    if (error.exitCode === 0) return DONE
    terminal.err(`\nBenchmarks:\n${listOf(benchmarks)}`)
    return WRONG_USAGE
  }
  const { json = null, store, out: folder, data: dataDir, most: maxSize } = program.opts<Options>()
  const { args } = program
  const named = benchmarks.filter((one) =>
    args.length === 0
      ? !isCurve(one)
      : args.includes(one.name) || (isCurve(one) && args.includes(ALL_CURVES)),
  )
  const reasons = new Map(named.map((one) => [one, unsupportedReason(one, store)]))
  const able = named.filter((one) => reasons.get(one) === null)
  const notAble = [...reasons].flatMap(([{ name }, message]): readonly SkippedMeasurement[] =>
    message === null ? [] : [{ benchmark: name, reason: "store", message }],
  )
  const narrowed = able.map((one) => limitToSize(one, maxSize))
  return {
    // A benchmark without a point of its curve has nothing to measure; `leftOut` names the points.
    chosen: narrowed.filter(({ isEmpty }) => !isEmpty).map(({ benchmark }) => benchmark),
    leftOut: [...notAble, ...narrowed.flatMap(({ leftOut }) => leftOut)],
    subject: args.length === 0 ? "ratios" : args.join("-"),
    json,
    store,
    folder,
    dataDir,
    maxSize,
  }
}

function programOf(benchmarks: readonly Benchmark[], terminal: Terminal): Command {
  const names = [...benchmarks.map(({ name }) => name), ALL_CURVES]
  return new Command("npm run bench --")
    .description("Measures how fast the ledger is, as ratios taken side by side.")
    .addArgument(
      new Argument(
        "[names...]",
        `what to run; default all ratios; ${ALL_CURVES}: all curves`,
      ).choices(names),
    )
    .addOption(
      new Option("--store <name>", "where the events live").choices(STORES).default("postgres"),
    )
    .option("--json <file>", "write the results to this file, and the page next to it")
    .option("--out <folder>", "write both to a new file in this folder", RESULTS_FOLDER)
    .option("--data <folder>", "where data sets are kept from run to run", DATA_FOLDER)
    .addOption(
      new Option("--most <size>", "leave out points of curves beyond it")
        .argParser(sizeOf)
        .default(Infinity, "none is left out"),
    )
    .addHelpText("after", `\nBenchmarks:\n${listOf(benchmarks)}`)
    .exitOverride()
    .configureHelp({ helpWidth: terminal.columns })
    .configureOutput({ writeOut: terminal.out, writeErr: terminal.err })
}

function sizeOf(text: string): number {
  const size = Number(text)
  if (text.trim() !== "" && size > 0) return size
  throw new InvalidArgumentError("It is a number such as 1000000 or 1e6.")
}

function isCurve({ curves = [] }: Benchmark): boolean {
  return curves.length > 0
}

/** Why a benchmark cannot run on a store; null if it can. */
function unsupportedReason({ stores }: Benchmark, store: StoreName): string | null {
  if (stores.length === 0) return null
  if (!stores.includes(store)) return `it is not measured on ${store}`
  const isServerMissing = store === "eventstoredb" && (process.env[SERVER_VARIABLE] ?? "") === ""
  return isServerMissing ? `${SERVER_VARIABLE} names no server of EventStoreDB` : null
}

function listOf(benchmarks: readonly Benchmark[]): string {
  return benchmarks.map(({ name, title }) => `  ${name}: ${title}\n`).join("")
}
