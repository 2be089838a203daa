/** `npm run bench`: runs the benchmarks in this process. */
import { processTerminal } from "../src/frame/operator/cli/terminal.ts"
import { BENCHMARKS } from "./benchmarks.ts"
import { runBench } from "./run-bench.ts"

/** Ctrl-C arrives from the terminal and again from npm; the second one has no effect. */
const stop = new AbortController()
for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, () => stop.abort())

const words = process.argv.slice(2)
// The results are written and everything is removed; deadlines of answered calls must not delay the exit.
process.exit(await runBench(words, BENCHMARKS, processTerminal(process), stop.signal))
