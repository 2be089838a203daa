/** Every benchmark there is, in the order in which they run. */
import type { Benchmark } from "./benchmark.ts"
import { decide } from "./decide/benchmark.ts"

/** What `npm run bench` runs. */
export const BENCHMARKS: readonly Benchmark[] = [decide]
