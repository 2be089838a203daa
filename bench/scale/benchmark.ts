/**
 * What everything costs that `docs/scale.md` reckons with, and what follows from it for a million
 * companies over ten processes: who owns them, and how long they wait when one of these dies.
 */
import type { Benchmark, Opened, Setting } from "../benchmark.ts"
import type { Beside } from "../ground/beside.ts"
import { openBeside } from "../ground/beside.ts"
import { openGround } from "../ground/ground.ts"
import { openHouse } from "../ground/house.ts"
import { CURVE, linesOf, measuredAt } from "../growth/points.ts"
import { openCallers } from "../http/callers.ts"
import type { Capacity, Costs } from "./capacity.ts"
import { capacityOf } from "./capacity.ts"
import { openCosts } from "./costs.ts"
import { APPENDS, DATABASE_CORES, FIGURES, POPULATIONS, PROCESSES, WAITS } from "./figures.ts"
import { once } from "./once.ts"
import type { Loss } from "./proxy.ts"
import type { Routed, ToSimulate, Waits } from "./simulated.ts"

/** Costs and the simulation. */
export const scale: Benchmark = {
  ...CURVE,
  name: "scale",
  title: "what a million companies take, and how long they wait when a process dies",
  stores: ["postgres"],
  figures: FIGURES,
  curves: [
    {
      title: "Appends by several processes to the one order of events",
      across: { title: "processes that append", scale: "log" },
      up: { title: "appends a second", scale: "linear" },
      lines: linesOf([APPENDS]),
      find: () => [],
    },
    {
      title: "Time until the next charge of a company whose process died",
      across: { title: "companies", scale: "log" },
      up: { title: "ms", scale: "log" },
      lines: linesOf([WAITS.p50, WAITS.p99, WAITS.most]),
      find: () => [],
    },
  ],
  open,
}

async function open(setting: Setting): Promise<Opened> {
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
    const house = kept(await openHouse())
    const callers = kept(openCallers(signal))
    report("scale: opening one whose months end")
    const monthly = kept(await openHouse(null, {}, "test"))
    report("scale: opening a store beside them")
    const ground = kept(await openGround(setting))
    const costs = kept(await openCosts({ house, callers, monthly, ground }, setting))
    const script = new URL("simulating-process.ts", import.meta.url)
    const simulating: Simulating = kept(openBeside<ToSimulate, Routed | Waits>(script, signal))
    const measure = { ...costs.measure, ...reckoned(costs.costs, simulating, setting) }
    return { measure, check: costs.check, close }
  } catch (error) {
    await close()
    throw error
  }
}

const PERCENT = 100

type Simulating = Beside<ToSimulate, Routed | Waits>

/** The figures that follow from the costs. */
function reckoned(
  costs: () => Costs,
  simulating: Simulating,
  { most }: Setting,
): Opened["measure"] {
  const [first = 1, ...further] = POPULATIONS
  const largest = Math.max(first, ...further.filter((size) => size <= most))
  const setup = { processes: PROCESSES, databaseCores: DATABASE_CORES }
  const capacity = once<Capacity>(async () => capacityOf(costs(), setup))
  const routed = once(async () => (await simulating.ask({ routing: largest })) as Routed)
  const played = new Map<number, Waits>()
  const play = async (companies: number, loss: Loss = "process", allAtOnce = false) => {
    const told = { companies, costs: costs(), loss, allAtOnce }
    return (await simulating.ask(told)) as Waits
  }
  const waits = async (size: number) => played.get(size) ?? play(size)
  const machine = once(() => play(largest, "machine"))
  const atOnce = once(() => play(largest, "process", true))
  return {
    ...capacity.figures({
      byProcesses: ({ byProcesses }) => byProcesses,
      byOrder: ({ byOrder }) => byOrder,
      byDatabase: ({ byDatabase }) => byDatabase,
    }),
    ...routed.figures({
      fewest: ({ fewest }) => fewest,
      most: (one) => one.most,
      busiest: ({ busiest }) => busiest * PERCENT,
      movedByDeath: ({ movedByDeath }) => movedByDeath * PERCENT,
      movedByAddition: ({ movedByAddition }) => movedByAddition * PERCENT,
    }),
    ...measuredAt(WAITS.p50, async (size) => {
      const one = await play(size)
      played.set(size, one)
      return one.p50
    }),
    ...measuredAt(WAITS.p99, async (size) => (await waits(size)).p99),
    ...measuredAt(WAITS.most, async (size) => (await waits(size)).most),
    loaded: async () => (await waits(largest)).loadedPart * PERCENT,
    asked: async () => (await waits(largest)).callsPerSecond,
    ...machine.figures({
      machineP50: ({ p50 }) => p50,
      machineP99: ({ p99 }) => p99,
      machineMost: (one) => one.most,
    }),
    ...atOnce.figures({
      atOnceP50: ({ p50 }) => p50,
      atOnceP99: ({ p99 }) => p99,
      atOnceMost: (one) => one.most,
    }),
  }
}
