import type { Terminal } from "../src/frame/operator/cli/terminal.ts"
import type { Benchmark } from "./benchmark.ts"
import { runBench } from "./run-bench.ts"

/** Runs with these arguments and returns the outcome. Results go into the folder unless an argument names another. */
export async function runIn(
  folder: string,
  words: readonly string[],
  benchmarks: readonly Benchmark[],
  signal: AbortSignal = new AbortController().signal,
) {
  const printed = { stdout: "", stderr: "" }
  const terminal: Terminal = {
    out: (text) => (printed.stdout += text),
    err: (text) => (printed.stderr += text),
    isTTY: false,
    errIsTTY: false,
    columns: 120,
  }
  const isPlaced = words.some((word) => ["--json", "--out", "--help"].includes(word))
  const placed = isPlaced ? words : [...words, "--out", folder]
  const code = await runBench(placed, benchmarks, terminal, signal)
  return { code, ...printed }
}
