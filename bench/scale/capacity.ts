/** What an installation carries, by what one text costs: plain arithmetic on measured costs. */

/** Measured costs, each in microseconds unless said otherwise. */
export interface Costs {
  /** CPU of the process for one text of a company in memory, with all that follows from it. */
  readonly textCpu: number
  /** CPU of PostgreSQL for the same. */
  readonly textDatabaseCpu: number
  /** Events that one text leaves, a number. */
  readonly textEvents: number
  /** CPU of the process to load one stream that has few facts behind its checkpoint. */
  readonly loadCpu: number
  /** CPU of the process for each fact behind the checkpoint. */
  readonly factCpu: number
  /** CPU of PostgreSQL for such a load, and for each fact. */
  readonly loadDatabaseCpu: number
  readonly factDatabaseCpu: number
  /** CPU of each process for an event that another one appended: all of them read all. */
  readonly followCpu: number
  /** CPU of PostgreSQL to hand that event to one of them. */
  readonly followDatabaseCpu: number
  /** One append alone, from call to answer. */
  readonly appendAlone: number
  /** What an event adds where as many as fit are appended together. */
  readonly appendEach: number
}

/** How much of what there is. */
export interface ClusterSetup {
  readonly processes: number
  /** Cores of PostgreSQL. */
  readonly databaseCores: number
}

/** Texts a second at which something is used to the full. */
export interface Capacity {
  /** Each process has one core, and reads what the others append. */
  readonly byProcesses: number
  /** All appends stand in one line. */
  readonly byAppends: number
  readonly byDatabase: number
}

const MICROS = 1_000_000

/** What would be full first is the wall. */
export function capacityOf(costs: Costs, { processes, databaseCores }: ClusterSetup): Capacity {
  const { textCpu, textDatabaseCpu, textEvents, followCpu, followDatabaseCpu, appendEach } = costs
  const others = processes - 1
  return {
    byProcesses: (processes * MICROS) / (textCpu + others * textEvents * followCpu),
    byAppends: MICROS / (textEvents * appendEach),
    byDatabase:
      (databaseCores * MICROS) / (textDatabaseCpu + others * textEvents * followDatabaseCpu),
  }
}

/** Texts a second where the first wall stands. */
export function maxTextsPerSecond(capacity: Capacity): number {
  return Math.min(capacity.byProcesses, capacity.byAppends, capacity.byDatabase)
}
