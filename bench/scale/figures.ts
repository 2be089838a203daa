/** The figures of `npm run bench -- scale`, in the order of measurement. */
import type { Figure, Unit } from "../benchmark.ts"
import type { SizedLine } from "../growth/points.ts"
import { FLUSH_FIGURE, curveFigures } from "../growth/points.ts"

/** Number of processes in the simulation. */
export const PROCESSES = 10
/** Number of PostgreSQL's cores. */
export const DATABASE_CORES = 8
/** Numbers of simulated companies. */
export const POPULATIONS = [10_000, 100_000, 1_000_000]

const waitLine = (name: string, which: string): SizedLine => ({
  name: `waits-${name}`,
  title: `${which} time until the next charge`,
  sizes: POPULATIONS,
  of: "companies",
  unit: "ms",
})

/** The waits of companies whose process died. */
export const WAIT_LINES = {
  p50: waitLine("p50", "median"),
  p99: waitLine("p99", "99 of 100 within this"),
  most: waitLine("most", "longest"),
}

/** Appends by several processes. */
export const APPEND_LINE: SizedLine = {
  name: "appends",
  title: "appends of one event",
  sizes: [1, 2, 4],
  of: "processes",
  unit: "per second",
}

const figuresWithUnit = (unit: Unit, titles: Readonly<Record<string, string>>): readonly Figure[] =>
  Object.entries(titles).map(([name, title]) => ({ name, title, unit }))

export const SCALE_FIGURES: readonly Figure[] = [
  FLUSH_FIGURE,
  ...figuresWithUnit("µs", {
    textCpu: "a text until it is settled, CPU of the process",
    textDatabaseCpu: "the same, CPU of PostgreSQL",
  }),
  ...figuresWithUnit("events", { textEvents: "a text leaves" }),
  ...figuresWithUnit("rows", { textRows: "a text leaves" }),
  ...figuresWithUnit("bytes", {
    textBytes: "a text leaves in the database's files",
    textLogBytes: "the same in its log",
  }),
  ...figuresWithUnit("µs", {
    chargeCpu: "a charge in every list, CPU of the process",
    chargeDatabaseCpu: "the same, CPU of PostgreSQL",
  }),
  ...figuresWithUnit("rows", { chargeRows: "a charge leaves" }),
  ...figuresWithUnit("bytes", {
    chargeBytes: "a charge leaves in the database's files",
    chargeLogBytes: "the same in its log",
  }),
  ...figuresWithUnit("rows", { companyRows: "a new company leaves" }),
  ...figuresWithUnit("bytes", { companyBytes: "a new company leaves in the database's files" }),
  ...figuresWithUnit("µs", {
    restCpu: "a second without calls, CPU of the process",
    restDatabaseCpu: "the same, CPU of PostgreSQL",
    monthCpu: "the end of an idle company's month, CPU of the process",
    monthDatabaseCpu: "the same, CPU of PostgreSQL",
  }),
  ...figuresWithUnit("rows", { monthRows: "the end of an idle company's month leaves" }),
  ...figuresWithUnit("bytes", { monthBytes: "the same in the database's files" }),
  ...figuresWithUnit("µs", {
    bareCpu: "a charge that nothing follows, CPU of the process",
    bareDatabaseCpu: "the same, CPU of PostgreSQL",
    coldAlone: "the first charge of a company, alone",
    warmAlone: "a charge of a company in memory, alone",
    loadCpu: "loading a stream of few facts, CPU of the process",
    loadDatabaseCpu: "the same, CPU of PostgreSQL",
    factCpu: "each fact behind a checkpoint, CPU of the process",
    factDatabaseCpu: "the same, CPU of PostgreSQL",
  }),
  ...figuresWithUnit("ms", { listMs: "taking up the list of a million companies from its texts" }),
  ...figuresWithUnit("bytes", {
    listBytes: "that list in memory",
    ledgerBytes: "a ledger in memory",
  }),
  ...figuresWithUnit("µs", { appendAlone: "one append alone" }),
  ...curveFigures([APPEND_LINE]),
  ...figuresWithUnit("µs", {
    appendDatabaseCpu: "an append by one process, CPU of PostgreSQL",
    followCpu: "reading an event of another process, CPU of each process",
    followDatabaseCpu: "the same, CPU of PostgreSQL",
  }),
  ...figuresWithUnit("per second", {
    byProcesses: `texts by the cores of ${PROCESSES} processes`,
    byOrder: "texts by the one order of events",
    byDatabase: `texts by ${DATABASE_CORES} cores of PostgreSQL`,
  }),
  ...figuresWithUnit("companies", {
    fewest: "the fewest that a process owns",
    most: "the most that a process owns",
  }),
  ...figuresWithUnit("%", {
    busiest: "of all charges come to the busiest process",
    movedByDeath: "of all companies move when one process dies",
    movedByAddition: "of all companies move when one is added",
  }),
  ...curveFigures([WAIT_LINES.p50, WAIT_LINES.p99, WAIT_LINES.most]),
  ...figuresWithUnit("%", {
    loaded: "of the calls before the death were of a company that was loaded",
  }),
  ...figuresWithUnit("per second", { asked: "texts that were asked for in the simulation" }),
  ...figuresWithUnit("ms", {
    machineP50: "median time until the next charge, where a machine is lost",
    machineP99: "99 of 100 within this",
    machineMost: "longest",
    allCallingP50: "median, where every moved company calls in the first second",
    allCallingP99: "99 of 100 within this",
    allCallingMost: "longest",
  }),
]
