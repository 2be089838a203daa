/** Appends of several processes to the global order of events, and the cost of reading it. */
import type { PeerProcess } from "../fixtures/peer-process.ts"
import { openPeerProcess } from "../fixtures/peer-process.ts"
import { assertMeasurement } from "../benchmark.ts"
import type { StoreEnvironment } from "../fixtures/store-environment.ts"
import type { AppenderResult, AppenderCommand } from "./append-process.ts"
import { measureCpuUsage } from "./resource-usage.ts"

/** The append rate of some processes. */
export interface AppendRate {
  readonly perSecond: number
  /** CPU of PostgreSQL for each event, microseconds. */
  readonly databaseCpu: number
}

export interface AppendWorkers {
  /** Appends by so many processes, each to many streams concurrently. */
  readonly append: (processes: number) => Promise<AppendRate>
  /** Appends by one process while two follow; returns the cost of following an event, for each of them. */
  readonly follow: () => Promise<{ readonly cpu: number; readonly databaseCpu: number }>
  /** Appends by one caller; microseconds from call to answer. */
  readonly appendLatency: () => Promise<number>
  readonly check: () => Promise<void>
  readonly close: () => Promise<void>
}

const MAX_PROCESSES = 4
/** Callers of all processes together: enough to fill transactions. */
const CALLERS = 1_000
const FOR_MS = 1_500
const FOLLOWERS = 2

/** Starts the processes. */
export function openAppendWorkers(
  { databaseUrl: url, pool, store }: StoreEnvironment,
  signal: AbortSignal,
): AppendWorkers {
  const script = new URL("append-process.ts", import.meta.url)
  const open = () => openPeerProcess<AppenderCommand, AppenderResult>(script, signal)
  const writers = Array.from({ length: MAX_PROCESSES }, open)
  const followers = Array.from({ length: FOLLOWERS }, open)
  let counted = 0
  const by = async (
    some: readonly PeerProcess<AppenderCommand, AppenderResult>[],
    callers: number,
  ) => {
    const command = { append: { url, callers: Math.ceil(callers / some.length), forMs: FOR_MS } }
    const before = (await store.head()).commit
    const works = await Promise.all(some.map((one) => one.ask(command)))
    const events = works.reduce((sum, work) => sum + work.events, 0)
    assertMeasurement(
      (await store.head()).commit - before === BigInt(events),
      "an event is not stored",
    )
    counted += events
    return events
  }
  const append = async (processes: number): Promise<AppendRate> => {
    let events = 0
    const begun = performance.now()
    const { databaseCpu } = await measureCpuUsage(pool, async () => {
      events = await by(writers.slice(0, processes), CALLERS)
      return events
    })
    return { perSecond: (events * 1_000) / (performance.now() - begun), databaseCpu }
  }
  return {
    append,
    follow: async () => {
      const without = await append(1)
      await Promise.all(followers.map((one) => one.ask({ follow: { url } })))
      let followed: readonly AppenderResult[] = []
      const { databaseCpu } = await measureCpuUsage(pool, async () => {
        const events = await by(writers.slice(0, 1), CALLERS)
        const command = { followed: { events } }
        followed = await Promise.all(followers.map((one) => one.ask(command)))
        return events
      })
      const events = followed.reduce((sum, work) => sum + work.events, 0)
      const cpu = followed.reduce((sum, work) => sum + work.cpu, 0) / events
      return { cpu, databaseCpu: Math.max(0, databaseCpu - without.databaseCpu) / FOLLOWERS }
    },
    appendLatency: async () => (FOR_MS * 1_000) / (await by(writers.slice(0, 1), 1)),
    check: async () => assertMeasurement(counted > 0, "nothing was appended"),
    close: async () => {
      for (const one of [...writers, ...followers]) await one.close()
    },
  }
}
