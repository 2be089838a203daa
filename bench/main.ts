/** `npm run bench`: the benchmarks in this process. */
import { processTerminal } from "../src/frame/operator/cli/terminal.ts"
import { BENCHMARKS } from "./benchmarks.ts"
import { runBench } from "./run-bench.ts"

/** A terminal's Ctrl-C comes from the terminal and again from npm: the second one changes nothing. */
const stop = new AbortController()
for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, () => stop.abort())

const words = process.argv.slice(2)
// What was measured is written and taken down; the deadlines of calls that were answered are no reason to stay.
process.exit(await runBench(words, BENCHMARKS, processTerminal(process), stop.signal))
