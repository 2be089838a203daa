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
    return (await perform(order, terminal, signal)) ? MEASURED : FAILED
  } catch (error) {
    if (signal.aborted) {
      terminal.err("Interrupted: nothing was kept.\n")
      return INTERRUPTED
    }
    if (!(error instanceof CannotWrite)) throw error
    terminal.err(`${error.message}\n`)
    return FAILED
  }
}

/** Measures, shows and writes; false where anything came to no end or was not honest. */
async function perform(order: Order, terminal: Terminal, signal: AbortSignal): Promise<boolean> {
  const { json, folder, subject, leftOut } = order
  // A file that cannot be written is told now and not after the work.
  const files = await openResultFiles(json ?? (await placeIn(folder, subject)))
  const progress = benchProgress(terminal)
  try {
    const where = await circumstances()
    const { measured, faults } = await measureAll(order, {
      ...order,
      ...{ signal, report: progress.report },
    })
    progress.end()
    for (const { told } of faults) terminal.err(`${told}\n`)
    const isWhole = faults.length === 0
    if (measured.length === 0 && !isWhole) return false
    const run = documentOf(where, measured, [...leftOut, ...faults.map(({ fault }) => fault)])
    terminal.out(renderRun(run, terminal))
    const paths = await files.keep(run)
    terminal.out(`\nWritten:\n${paths.map((path) => `  ${path}\n`).join("")}`)
    return isWhole
  } finally {
    progress.end()
    await files.discard()
  }
}

interface Attempts {
  readonly measured: readonly Measured[]
  /** What is left out for it: the minutes that the others took are not lost with it. */
  readonly faults: readonly { readonly fault: LeftOut; readonly told: string }[]
}

async function measureAll({ chosen }: Order, watch: Setting): Promise<Attempts> {
  const measured: Measured[] = []
  const faults: { fault: LeftOut; told: string }[] = []
  for (const [i, benchmark] of chosen.entries()) {
    const which = chosen.length === 1 ? "" : `${i + 1} of ${chosen.length}, `
    const report = (message: string) => watch.report(`${which}${message}`)
    try {
      measured.push(await measure(benchmark, { ...watch, report }))
    } catch (error) {
      if (watch.signal.aborted || !(error instanceof Error)) throw error
      const { name } = benchmark
      const fault: LeftOut = { benchmark: name, reason: "fault", message: error.message }
      faults.push({ fault, told: toldOf(leftOutLine(fault), error) })
    }
  }
  return { measured, faults }
}

/** A fault as it is told: where the code is to blame, with the place in it. */
function toldOf(fault: string, error: Error): string {
  if (error instanceof Dishonest) return `Not honest: ${fault}.`
  return error instanceof CannotWrite ? fault : `${fault}\n${error.stack}`
}
