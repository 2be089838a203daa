/** Ratios 4 and 4b: deciding and folding, encoding, and the memory of idle holders. */
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import type { Benchmark, OpenBenchmark, BenchmarkContext } from "../benchmark.ts"
import { summarise } from "../statistics.ts"
import { openStopwatch } from "../stopwatch.ts"
import type { BareSums } from "./bare-sums.ts"
import { openBareSums } from "./bare-sums.ts"
import type { CompanySize } from "./generated-company.ts"
import type { LedgerSimulation } from "./ledger-simulation.ts"
import { openLedgerSimulation } from "./ledger-simulation.ts"
import { openEventWriter } from "./event-writer.ts"

const SMALL: CompanySize = { people: 100, keys: 200 }
const LARGE: CompanySize = { people: 1_000, keys: 5_000 }
/** Both sides of a ratio draw the same calls. */
const SEED = 20_261_121
/** Prepared calls of a step: as many as a writer might find waiting. */
const STEP_CALLS = 200
const DECIDE_STEPS = 200
const WRITE_STEPS = 40
/** Steps that bring the data back into the caches, which the figure before has filled. */
const WARMING_STEPS = 50
/** Looking up and adding is so fast that the same calls are repeated. */
const BARE_CALLS = 10_000
const BARE_STEPS = 40

/** The benchmark of deciding without a store. */
export const decideBenchmark: Benchmark = {
  name: "decide",
  title: "the ledger's rules alone, all limits set, 3 % refused; commands are made beforehand",
  stores: [],
  rounds: 11,
  figures: [
    { name: "bareSmall", title: "bare Map.get and add, 200 keys", unit: "per second" },
    { name: "chargesSmall", title: "charges, 100 people, 200 keys", unit: "per second" },
    { name: "bareLarge", title: "bare Map.get and add, 5,000 keys", unit: "per second" },
    { name: "chargesLarge", title: "charges, 1,000 people, 5,000 keys", unit: "per second" },
    { name: "write", title: "encode, canonical text, hash: a charge", unit: "µs" },
    { name: "holder", title: "memory of an idle holder, 6,000 of them", unit: "bytes" },
    { name: "leftOut", title: "steps left out: another program had the core", unit: "%" },
  ],
  ratios: [
    {
      id: "4",
      title: "decide + evolve ÷ bare Map.get and add, 200 keys",
      of: "chargesSmall",
      per: "bareSmall",
      better: "more",
      target: 0.04,
      floor: 0.025,
    },
    {
      id: "4 large",
      title: "decide + evolve ÷ bare Map.get and add, 5,000 keys",
      of: "chargesLarge",
      per: "bareLarge",
      better: "more",
      target: 0.04,
      floor: 0.025,
    },
    {
      id: "4 growth",
      title: "that with 5,000 keys ÷ that with 200",
      of: "4 large",
      per: "4",
      better: "more",
      target: 0.7,
      floor: null,
    },
    {
      id: "4b",
      title: "encode, canonical text, hash: a charge",
      of: "write",
      per: null,
      better: "less",
      target: 6,
      floor: 10,
    },
    {
      id: "4 memory",
      title: "memory of an idle holder, 6,000 of them",
      of: "holder",
      per: null,
      better: "less",
      target: 300,
      floor: null,
    },
  ],
  open: async (setting) => open(setting),
}

function open({ signal }: BenchmarkContext): OpenBenchmark {
  const small = openLedgerSimulation(SMALL, SEED)
  const large = openLedgerSimulation(LARGE, SEED)
  const bareSmall = openBareSums(SMALL, SEED)
  const bareLarge = openBareSums(LARGE, SEED)
  const written = openLedgerSimulation(SMALL, SEED)
  const writing = openEventWriter()
  const watch = openStopwatch(signal)
  const decided = async (spending: LedgerSimulation) => {
    await watch.take(WARMING_STEPS, () => spending.step(STEP_CALLS))
    return (await watch.take(DECIDE_STEPS, () => spending.step(STEP_CALLS))).perSecond
  }
  const added = async (sums: BareSums) => {
    sums.draw(BARE_CALLS)
    return (await watch.take(BARE_STEPS, sums.step)).perSecond
  }
  return {
    measure: {
      bareSmall: () => added(bareSmall),
      chargesSmall: () => decided(small),
      bareLarge: () => added(bareLarge),
      chargesLarge: () => decided(large),
      write: async () => {
        const rate = await watch.take(WRITE_STEPS, () => {
          const { events } = written.step(STEP_CALLS)
          return writing.step(events.filter((event) => event.type === "Charged"))
        })
        return rate.microsecondsEach
      },
      holder: () => holderBytes(signal),
      leftOut: async () => watch.disturbedShare() * 100,
    },
    check: async () => {
      for (const one of [small, large, bareSmall, bareLarge, written, writing]) one.check()
    },
    close: async () => undefined,
  }
}

/** Measures the memory in a process of its own. */
async function holderBytes(signal: AbortSignal): Promise<number> {
  const script = fileURLToPath(new URL("holder-bytes.ts", import.meta.url))
  const args = ["--expose-gc", script]
  const { stdout } = await promisify(execFile)(process.execPath, args, { signal })
  return summarise(JSON.parse(stdout) as readonly number[]).median
}
