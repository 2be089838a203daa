/** The capacity of an installation, calculated from the measured costs of a text. */

/** Measured costs, in microseconds unless stated otherwise. */
export interface Costs {
  /** CPU of the process for one text of a company in memory, jobs included. */
  readonly textCpu: number
  /** CPU of PostgreSQL for the same. */
  readonly textDatabaseCpu: number
  readonly textEvents: number
  /** CPU of the process to load one stream with few facts after its checkpoint. */
  readonly loadCpu: number
  /** CPU of the process for each fact after the checkpoint. */
  readonly factCpu: number
  /** CPU of PostgreSQL for such a load, and for each fact. */
  readonly loadDatabaseCpu: number
  readonly factDatabaseCpu: number
  /** CPU of each process for an event of another process: each process reads all events. */
  readonly followCpu: number
  /** CPU of PostgreSQL to deliver that event to one process. */
  readonly followDatabaseCpu: number
  /** Time of a single append, from call to answer. */
  readonly appendAlone: number
  /** Additional time of each event in a full append. */
  readonly appendEach: number
}

export interface ClusterSetup {
  readonly processes: number
  /** Cores of PostgreSQL. */
  readonly databaseCores: number
}

/** Texts per second at which each resource is fully used. */
export interface Capacity {
  /** Each process has one core, and reads the other processes' events. */
  readonly byProcesses: number
  /** All appends go through one queue. */
  readonly byAppends: number
  readonly byDatabase: number
}

const MICROS = 1_000_000

/** Calculates the capacity of each resource. */
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

/** Texts per second at the first limit. */
export function maxTextsPerSecond(capacity: Capacity): number {
  return Math.min(capacity.byProcesses, capacity.byAppends, capacity.byDatabase)
}
