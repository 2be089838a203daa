/**
 * Measures the costs that `docs/scale.md` calculates with, and simulates a million companies on ten processes: their
 * owners, and how long they wait when a process dies.
 */
import type { Benchmark, OpenBenchmark, BenchmarkContext } from "../benchmark.ts"
import type { PeerProcess } from "../fixtures/peer-process.ts"
import { openPeerProcess } from "../fixtures/peer-process.ts"
import { openStoreEnvironment } from "../fixtures/store-environment.ts"
import { openBenchInstallation } from "../fixtures/bench-installation.ts"
import { CURVE_DEFAULTS, curveLines, measureAtSizes } from "../growth/points.ts"
import { openHttpCallers } from "../http/http-callers.ts"
import type { Capacity, Costs } from "./capacity.ts"
import { capacityOf } from "./capacity.ts"
import { openCosts } from "./costs.ts"
import {
  APPEND_LINE,
  DATABASE_CORES,
  SCALE_FIGURES,
  POPULATIONS,
  PROCESSES,
  WAIT_LINES,
} from "./figures.ts"
import { shareMeasurement } from "./shared-measurement.ts"
import type { Loss } from "./proxy.ts"
import type { RoutingSummary, SimulationRequest, FailoverWaits } from "./simulate.ts"

/** The benchmark of costs and of the simulation. */
export const scaleBenchmark: Benchmark = {
  ...CURVE_DEFAULTS,
  name: "scale",
  title: "what a million companies take, and how long they wait when a process dies",
  stores: ["postgres"],
  figures: SCALE_FIGURES,
  curves: [
    {
      title: "Appends by several processes to the one order of events",
      across: { title: "processes that append", scale: "log" },
      up: { title: "appends a second", scale: "linear" },
      lines: curveLines([APPEND_LINE]),
      find: () => [],
    },
    {
      title: "Time until the next charge of a company whose process died",
      across: { title: "companies", scale: "log" },
      up: { title: "ms", scale: "log" },
      lines: curveLines([WAIT_LINES.p50, WAIT_LINES.p99, WAIT_LINES.most]),
      find: () => [],
    },
  ],
  open,
}

async function open(setting: BenchmarkContext): Promise<OpenBenchmark> {
  const { signal, report } = setting
  const closers: (() => Promise<void>)[] = []
  const close = async (): Promise<void> => {
    for (const closer of closers.splice(0).toReversed()) await closer()
  }
  const kept = <T extends { readonly close: () => Promise<void> }>(opened: T): T => {
    closers.push(opened.close)
    return opened
  }
  try {
    report("scale: opening an installation")
    const house = kept(await openBenchInstallation())
    const callers = kept(openHttpCallers(signal))
    report("scale: opening one whose months end")
    const monthly = kept(await openBenchInstallation(null, {}, "test"))
    report("scale: opening a store for the appends")
    const ground = kept(await openStoreEnvironment(setting))
    const costs = kept(await openCosts({ house, callers, monthly, ground }, setting))
    const script = new URL("simulation-process.ts", import.meta.url)
    const simulating: SimulationProcess = kept(
      openPeerProcess<SimulationRequest, RoutingSummary | FailoverWaits>(script, signal),
    )
    const measure = { ...costs.measure, ...derivedFigures(costs.costs, simulating, setting) }
    return { measure, check: costs.check, close }
  } catch (error) {
    await close()
    throw error
  }
}

const PERCENT = 100

type SimulationProcess = PeerProcess<SimulationRequest, RoutingSummary | FailoverWaits>

function derivedFigures(
  costs: () => Costs,
  simulating: SimulationProcess,
  { maxSize }: BenchmarkContext,
): OpenBenchmark["measure"] {
  const [first = 1, ...further] = POPULATIONS
  const largest = Math.max(first, ...further.filter((size) => size <= maxSize))
  const setup = { processes: PROCESSES, databaseCores: DATABASE_CORES }
  const capacity = shareMeasurement<Capacity>(async () => capacityOf(costs(), setup))
  const routed = shareMeasurement(
    async () => (await simulating.ask({ routing: largest })) as RoutingSummary,
  )
  const played = new Map<number, FailoverWaits>()
  const play = async (companies: number, loss: Loss = "process", isEveryCompanyCalling = false) => {
    const request = { companies, costs: costs(), loss, isEveryCompanyCalling }
    return (await simulating.ask(request)) as FailoverWaits
  }
  const waits = async (size: number) => played.get(size) ?? play(size)
  const machine = shareMeasurement(() => play(largest, "machine"))
  const allCalling = shareMeasurement(() => play(largest, "process", true))
  return {
    ...capacity.figures({
      byProcesses: ({ byProcesses }) => byProcesses,
      byOrder: ({ byAppends }) => byAppends,
      byDatabase: ({ byDatabase }) => byDatabase,
    }),
    ...routed.figures({
      fewest: ({ fewest }) => fewest,
      most: (one) => one.most,
      busiest: ({ busiest }) => busiest * PERCENT,
      movedByDeath: ({ movedByDeath }) => movedByDeath * PERCENT,
      movedByAddition: ({ movedByAddition }) => movedByAddition * PERCENT,
    }),
    ...measureAtSizes(WAIT_LINES.p50, async (size) => {
      const one = await play(size)
      played.set(size, one)
      return one.p50
    }),
    ...measureAtSizes(WAIT_LINES.p99, async (size) => (await waits(size)).p99),
    ...measureAtSizes(WAIT_LINES.most, async (size) => (await waits(size)).most),
    loaded: async () => (await waits(largest)).loadedPart * PERCENT,
    asked: async () => (await waits(largest)).callsPerSecond,
    ...machine.figures({
      machineP50: ({ p50 }) => p50,
      machineP99: ({ p99 }) => p99,
      machineMost: (one) => one.most,
    }),
    ...allCalling.figures({
      allCallingP50: ({ p50 }) => p50,
      allCallingP99: ({ p99 }) => p99,
      allCallingMost: (one) => one.most,
    }),
  }
}
