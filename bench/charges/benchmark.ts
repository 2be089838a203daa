/** Ratios 1 to 3: charges on one company, compared with its store and with a design without a queue. */
import { randomUUID } from "node:crypto"
import { NO_STREAM } from "../../adapters/eventstore/port.ts"
import type { Benchmark, OpenBenchmark, BenchmarkContext } from "../benchmark.ts"
import { runConcurrentCallers } from "../fixtures/concurrent-callers.ts"
import { openSpendingCompany } from "../fixtures/spending-company.ts"
import { checkFlushed } from "../fixtures/check-flushed.ts"
import { flushMicroseconds } from "../fixtures/flush.ts"
import type { StoreEnvironment } from "../fixtures/store-environment.ts"
import { onStoreEnvironment } from "../fixtures/on-store-environment.ts"
import type { EmmettPeer } from "../peers/emmett.ts"
import { EMMETT_NOT_INSTALLED, openEmmett } from "../peers/emmett.ts"
import { openOptimisticWriter } from "./optimistic-writer.ts"

const SIZE = { people: 20, keys: 40 }
/** Writers without a queue are many times slower; they are measured for the same time. */
const OPTIMISTIC_WRITERS = 32

/** Other programs are only reported; they have no target. */
const PEER = { better: "more", target: null, floor: null } as const

export const chargesBenchmark: Benchmark = {
  name: "charges",
  title: "charges on one company, each caller answered by itself once it is stored",
  stores: ["postgres", "eventstoredb", "memory"],
  rounds: 5,
  figures: [
    { name: "flush", title: "one-row commit", unit: "µs" },
    { name: "appends", title: "one-event appends one after the other", unit: "per second" },
    { name: "one", title: "charges by 1 caller", unit: "per second" },
    { name: "some", title: "charges by 32 callers", unit: "per second" },
    { name: "many", title: "charges by 256 callers", unit: "per second" },
    { name: "rivals", title: "read what is new, decide, append, retry by 32", unit: "per second" },
    { name: "emmettAppends", title: "emmett: one-event appends in a row", unit: "per second" },
    { name: "emmettOne", title: "emmett: charges by 1 caller", unit: "per second" },
    { name: "emmettSome", title: "emmett: charges by 32 callers", unit: "per second" },
  ],
  ratios: [
    {
      id: "1",
      title: "charges by 256 callers ÷ appends one after the other",
      of: "many",
      per: "appends",
      better: "more",
      target: { postgres: 14, eventstoredb: 18 },
      floor: { postgres: 9, eventstoredb: 10 },
    },
    {
      id: "2",
      title: "charges by 32 callers ÷ by 1",
      of: "some",
      per: "one",
      better: "more",
      target: { postgres: 8, eventstoredb: 8 },
      floor: { postgres: 5, eventstoredb: 5 },
    },
    {
      id: "3",
      title: "charges by 32 callers ÷ read what is new, decide, append, retry by 32",
      of: "some",
      per: "rivals",
      better: "more",
      target: { postgres: 60, eventstoredb: 80 },
      floor: { postgres: 30, eventstoredb: 40 },
    },
    {
      id: "1 emmett",
      title: "emmett: charges by 32 callers ÷ its appends one after the other",
      of: "emmettSome",
      per: "emmettAppends",
      ...PEER,
    },
    {
      id: "2 emmett",
      title: "emmett: charges by 32 callers ÷ by 1",
      of: "emmettSome",
      per: "emmettOne",
      ...PEER,
    },
    {
      id: "3 emmett",
      title: "charges by 32 callers ÷ emmett's by 32",
      of: "some",
      per: "emmettSome",
      ...PEER,
    },
  ],
  open: onStoreEnvironment(openOn),
}

async function openOn(
  ground: StoreEnvironment,
  { signal, store }: BenchmarkContext,
): Promise<Omit<OpenBenchmark, "close">> {
  const runner = ground.newRunner()
  const ours = await openSpendingCompany(ground, runner, SIZE)
  const theirs = await openSpendingCompany(ground, runner, SIZE)
  const opening = Array.from({ length: OPTIMISTIC_WRITERS }, () =>
    openOptimisticWriter(ground, theirs),
  )
  const rivals = await Promise.all(opening)
  const append = await openAppends(ground)
  // A store that does not wait for the disk is not compared with a program that does.
  const isOnDisk = store === "postgres"
  const emmett = isOnDisk ? await openEmmett(ground, SIZE, OPTIMISTIC_WRITERS) : null
  const perSecond = async (callers: number, call: (own: number) => Promise<boolean>) =>
    (await runConcurrentCallers(callers, call, signal)).perSecond
  const charged = (callers: number) => async () => {
    ours.prepareCalls()
    return perSecond(callers, () => ours.charge(runner))
  }
  return {
    measure: {
      flush: () => flushMicroseconds(ground.pool),
      appends: () => perSecond(1, append),
      one: charged(1),
      some: charged(32),
      many: charged(256),
      rivals: async () => {
        theirs.prepareCalls()
        const call = (own: number) => (rivals[own] as () => Promise<boolean>)()
        return perSecond(OPTIMISTIC_WRITERS, call)
      },
      ...(emmett === null ? {} : emmettMeasures(emmett, perSecond)),
    },
    skipped: emmett === null ? emmettSkipReasons(isOnDisk) : {},
    check: async () => {
      if (isOnDisk) await checkFlushed(ground.pool, append)
      await emmett?.check()
      await ours.check(runner)
      await theirs.check(ground.newRunner())
    },
  }
}

type PerSecond = (callers: number, call: (own: number) => Promise<boolean>) => Promise<number>

function emmettMeasures({ append, charge }: EmmettPeer, perSecond: PerSecond) {
  return {
    emmettAppends: () => perSecond(1, append),
    emmettOne: () => perSecond(1, charge),
    emmettSome: () => perSecond(OPTIMISTIC_WRITERS, charge),
  }
}

function emmettSkipReasons(isOnDisk: boolean): Readonly<Record<string, string>> {
  const reason = isOnDisk ? EMMETT_NOT_INSTALLED : "it is only measured on PostgreSQL"
  const why = `emmett's PostgreSQL store: ${reason}`
  return { emmettAppends: why, emmettOne: why, emmettSome: why }
}

/** Appends of one event as large as a charge, each after the answer to the one before. */
async function openAppends({ store }: StoreEnvironment): Promise<() => Promise<boolean>> {
  const stream = `bench-${randomUUID()}`
  const [data, metadata] = [`{"${"d".repeat(520)}":1}`, `{"${"m".repeat(120)}":1}`]
  let revision = NO_STREAM
  return async () => {
    const event = { id: randomUUID(), type: "Appended", data, metadata }
    revision = (await store.append(stream, [event], revision)).revision
    return true
  }
}
