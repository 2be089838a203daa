/** What `npm run bench -- scale` shows, in the order in which it is measured. */
import type { Figure, Unit } from "../benchmark.ts"
import type { Sized } from "../growth/points.ts"
import { FLUSH_FIGURE, figuresOf } from "../growth/points.ts"

/** How many processes an installation of the simulation has. */
export const PROCESSES = 10
/** How many cores its PostgreSQL has. */
export const DATABASE_CORES = 8
/** How many companies are simulated, at most. */
export const POPULATIONS = [10_000, 100_000, 1_000_000]

const waits = (name: string, which: string): Sized => ({
  name: `waits-${name}`,
  title: `${which} time until the next charge`,
  sizes: POPULATIONS,
  of: "companies",
  unit: "ms",
})

/** Of companies whose process died. */
export const WAITS = {
  p50: waits("p50", "median"),
  p99: waits("p99", "99 of 100 within this"),
  most: waits("most", "longest"),
}

/** Appends by several processes. */
export const APPENDS: Sized = {
  name: "appends",
  title: "appends of one event",
  sizes: [1, 2, 4],
  of: "processes",
  unit: "per second",
}

const named = (unit: Unit, titles: Readonly<Record<string, string>>): readonly Figure[] =>
  Object.entries(titles).map(([name, title]) => ({ name, title, unit }))

/** All of them. */
export const FIGURES: readonly Figure[] = [
  FLUSH_FIGURE,
  ...named("µs", {
    textCpu: "a text until it is settled, CPU of the process",
    textDatabaseCpu: "the same, CPU of PostgreSQL",
  }),
  ...named("events", { textEvents: "a text leaves" }),
  ...named("rows", { textRows: "a text leaves" }),
  ...named("bytes", {
    textBytes: "a text leaves in the database's files",
    textLogBytes: "the same in its log",
  }),
  ...named("µs", {
    chargeCpu: "a charge in every list, CPU of the process",
    chargeDatabaseCpu: "the same, CPU of PostgreSQL",
  }),
  ...named("rows", { chargeRows: "a charge leaves" }),
  ...named("bytes", {
    chargeBytes: "a charge leaves in the database's files",
    chargeLogBytes: "the same in its log",
  }),
  ...named("rows", { companyRows: "a new company leaves" }),
  ...named("bytes", { companyBytes: "a new company leaves in the database's files" }),
  ...named("µs", {
    restCpu: "a second in which nobody calls, CPU of the process",
    restDatabaseCpu: "the same, CPU of PostgreSQL",
    monthCpu: "the end of an idle company's month, CPU of the process",
    monthDatabaseCpu: "the same, CPU of PostgreSQL",
  }),
  ...named("rows", { monthRows: "the end of an idle company's month leaves" }),
  ...named("bytes", { monthBytes: "the same in the database's files" }),
  ...named("µs", {
    bareCpu: "a charge that nothing follows, CPU of the process",
    bareDatabaseCpu: "the same, CPU of PostgreSQL",
    coldAlone: "the first charge of a company, alone",
    warmAlone: "a charge of a company in memory, alone",
    loadCpu: "loading a stream of few facts, CPU of the process",
    loadDatabaseCpu: "the same, CPU of PostgreSQL",
    factCpu: "each fact behind a checkpoint, CPU of the process",
    factDatabaseCpu: "the same, CPU of PostgreSQL",
  }),
  ...named("ms", { listMs: "taking up the list of a million companies from its texts" }),
  ...named("bytes", { listBytes: "that list in memory", ledgerBytes: "a ledger in memory" }),
  ...named("µs", { appendAlone: "one append alone" }),
  ...figuresOf([APPENDS]),
  ...named("µs", {
    appendDatabaseCpu: "an append by one process, CPU of PostgreSQL",
    followCpu: "reading an event of another process, CPU of each process",
    followDatabaseCpu: "the same, CPU of PostgreSQL",
  }),
  ...named("per second", {
    byProcesses: `texts by the cores of ${PROCESSES} processes`,
    byOrder: "texts by the one order of events",
    byDatabase: `texts by ${DATABASE_CORES} cores of PostgreSQL`,
  }),
  ...named("companies", {
    fewest: "the fewest that a process owns",
    most: "the most that a process owns",
  }),
  ...named("%", {
    busiest: "of all charges come to the busiest process",
    movedByDeath: "of all companies move when one process dies",
    movedByAddition: "of all companies move when one is added",
  }),
  ...figuresOf([WAITS.p50, WAITS.p99, WAITS.most]),
  ...named("%", { loaded: "of the calls before the death were of a company that was loaded" }),
  ...named("per second", { asked: "texts that were asked for in the simulation" }),
  ...named("ms", {
    machineP50: "median time until the next charge, where a machine is lost",
    machineP99: "99 of 100 within this",
    machineMost: "longest",
    atOnceP50: "median, where every moved company calls in the first second",
    atOnceP99: "99 of 100 within this",
    atOnceMost: "longest",
  }),
]
