/**
 * What everything costs that `docs/scale.md` reckons with, and what follows from it for a million
 * companies over ten processes: who owns them, and how long they wait when one of these dies.
 */
import type { Benchmark, Opened, Setting } from "../benchmark.ts"
import { flushMicroseconds } from "../ground/flush.ts"
import type { Ground } from "../ground/ground.ts"
import { openGround } from "../ground/ground.ts"
import type { House } from "../ground/house.ts"
import { openHouse } from "../ground/house.ts"
import { CURVE, linesOf, measuredAt } from "../growth/points.ts"
import type { Callers } from "../http/callers.ts"
import { openCallers } from "../http/callers.ts"
import type { Capacity, Costs } from "./capacity.ts"
import { capacityOf } from "./capacity.ts"
import type { Failover } from "./failover.ts"
import { APPENDS, DATABASE_CORES, FIGURES, POPULATIONS, PROCESSES, WAITS } from "./figures.ts"
import { openLedgers } from "./ledgers.ts"
import { bytesOfLedger } from "./memory-of-ledgers.ts"
import { openOrder } from "./order.ts"
import { once } from "./once.ts"
import { openSimulated, waitAt } from "./simulated.ts"
import { openInstalled } from "./texting.ts"

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
  const closers: (() => Promise<void>)[] = []
  const close = async (): Promise<void> => {
    for (const closer of closers.splice(0).toReversed()) await closer()
  }
  try {
    setting.report("scale: opening an installation")
    const house = await openHouse()
    closers.push(house.close)
    const callers = openCallers(setting.signal)
    closers.push(callers.close)
    setting.report("scale: opening a store beside it")
    const ground = await openGround(setting)
    closers.push(ground.close)
    const opened = await openOn({ house, callers, ground }, setting)
    closers.push(opened.close)
    return { ...opened, close }
  } catch (error) {
    await close()
    throw error
  }
}

interface Places {
  readonly house: House
  readonly callers: Callers
  readonly ground: Ground
}

async function openOn({ house, callers, ground }: Places, setting: Setting): Promise<Opened> {
  const { signal } = setting
  const installed = await openInstalled(house, callers, signal)
  const ledgers = await openLedgers(ground, signal)
  const order = openOrder(ground, signal)
  const rates = new Map<number, number>()
  const text = once(installed.text)
  const charge = once(installed.charge)
  const company = once(installed.company)
  const rest = once(installed.rest)
  const ledger = once(ledgers.measure)
  const alone = once(order.alone)
  const follow = once(order.follow)
  const single = once(() => order.append(1))
  const costs = (): Costs => ({
    ...{ textCpu: text.last().cpu, textDatabaseCpu: text.last().databaseCpu },
    textEvents: text.last().events,
    ...{ loadCpu: ledger.last().load.cpu, loadDatabaseCpu: ledger.last().load.databaseCpu },
    ...{ factCpu: ledger.last().fact.cpu, factDatabaseCpu: ledger.last().fact.databaseCpu },
    ...{ followCpu: follow.last().cpu, followDatabaseCpu: follow.last().databaseCpu },
    appendAlone: alone.last(),
    appendEach: MICROS / Math.max(...rates.values()),
  })
  return {
    measure: {
      flush: () => flushMicroseconds(ground.pool),
      ...text.figures({
        textCpu: ({ cpu }) => cpu,
        textDatabaseCpu: ({ databaseCpu }) => databaseCpu,
        textEvents: ({ events }) => events,
        textRows: ({ rows }) => rows,
        textBytes: ({ bytes }) => bytes,
        textLogBytes: ({ logBytes }) => logBytes,
      }),
      ...charge.figures({
        chargeCpu: ({ cpu }) => cpu,
        chargeDatabaseCpu: ({ databaseCpu }) => databaseCpu,
        chargeRows: ({ rows }) => rows,
        chargeBytes: ({ bytes }) => bytes,
        chargeLogBytes: ({ logBytes }) => logBytes,
      }),
      ...company.figures({ companyRows: ({ rows }) => rows, companyBytes: ({ bytes }) => bytes }),
      ...rest.figures({
        restCpu: ({ cpu }) => cpu,
        restDatabaseCpu: ({ databaseCpu }) => databaseCpu,
      }),
      ...ledger.figures({
        coldAlone: (one) => one.coldAlone,
        warmAlone: (one) => one.warmAlone,
        loadCpu: ({ load }) => load.cpu,
        loadDatabaseCpu: ({ load }) => load.databaseCpu,
        factCpu: ({ fact }) => fact.cpu,
        factDatabaseCpu: ({ fact }) => fact.databaseCpu,
      }),
      ledgerBytes: () => bytesOfLedger(ground, ledgers.streams, signal),
      ...alone.figures({ appendAlone: (micros) => micros }),
      ...measuredAt(APPENDS, async (processes) => {
        const { perSecond } = await order.append(processes)
        rates.set(processes, perSecond)
        return perSecond
      }),
      ...single.figures({ appendDatabaseCpu: ({ databaseCpu }) => databaseCpu }),
      ...follow.figures({
        followCpu: ({ cpu }) => cpu,
        followDatabaseCpu: ({ databaseCpu }) => databaseCpu,
      }),
      ...simulating(costs, setting),
    },
    check: async () => {
      await ledgers.check()
      await order.check()
      house.check()
    },
    close: order.close,
  }
}

const MICROS = 1_000_000
const PERCENT = 100

/** The figures that follow from the costs. */
function simulating(costs: () => Costs, { most }: Setting): Opened["measure"] {
  const simulated = openSimulated()
  const [first = 1, ...further] = POPULATIONS
  const largest = Math.max(first, ...further.filter((size) => size <= most))
  const setup = { processes: PROCESSES, databaseCores: DATABASE_CORES }
  const capacity = once<Capacity>(async () => capacityOf(costs(), setup))
  const routed = once(async () => simulated.routing(largest))
  const played = new Map<number, Failover>()
  const play = (size: number): Failover => {
    const failover = simulated.failOver(size, costs())
    played.set(size, failover)
    return failover
  }
  const waits = (size: number) => played.get(size) ?? play(size)
  const machine = once(async () => simulated.failOver(largest, costs(), "machine"))
  const atOnce = once(async () => simulated.failOver(largest, costs(), "process", true))
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
    ...measuredAt(WAITS.p50, async (size) => waitAt(play(size), 0.5)),
    ...measuredAt(WAITS.p99, async (size) => waitAt(waits(size), 0.99)),
    ...measuredAt(WAITS.most, async (size) => waitAt(waits(size), 1)),
    loaded: async () => waits(largest).loadedPart * PERCENT,
    asked: async () => waits(largest).callsPerSecond,
    ...machine.figures({
      machineP50: (one) => waitAt(one, 0.5),
      machineP99: (one) => waitAt(one, 0.99),
      machineMost: (one) => waitAt(one, 1),
    }),
    ...atOnce.figures({
      atOnceP50: (one) => waitAt(one, 0.5),
      atOnceP99: (one) => waitAt(one, 0.99),
      atOnceMost: (one) => waitAt(one, 1),
    }),
  }
}
