/** Ratio 6: reading a stream and folding it, compared with only reading it. */
import { LEDGER_AGGREGATE } from "../../domain/charging/aggregates.ts"
import { openMemoryCheckpoints } from "../../adapters/postgres/checkpoints/checkpoints.ts"
import { ledgerDecider } from "../../domain/charging/ledger.ts"
import { NO_HASH, expectedHash, readMetadata } from "../../src/frame/kernel/envelope.ts"
import { loadStream } from "../../src/frame/writer/runner/load.ts"
import type { Benchmark, OpenBenchmark, BenchmarkContext } from "../benchmark.ts"
import { assertMeasurement } from "../benchmark.ts"
import { openSpendingCompany } from "../fixtures/spending-company.ts"
import { eventsPerSecond } from "../fixtures/events-per-second.ts"
import { flushMicroseconds } from "../fixtures/flush.ts"
import type { StoreEnvironment } from "../fixtures/store-environment.ts"
import { onStoreEnvironment } from "../fixtures/on-store-environment.ts"

const SIZE = { people: 20, keys: 40 }
const CHARGES = 50_000

export const replayBenchmark: Benchmark = {
  name: "replay",
  title: `a ledger of ${CHARGES.toLocaleString("en-US")} charges read back`,
  stores: ["postgres", "eventstoredb", "memory"],
  rounds: 7,
  figures: [
    { name: "flush", title: "one-row commit", unit: "µs" },
    { name: "raw", title: "events read", unit: "per second" },
    { name: "folded", title: "events read, parsed, folded", unit: "per second" },
    { name: "verified", title: "the same with every hash verified", unit: "per second" },
  ],
  ratios: [
    {
      id: "6",
      title: "read, parse, fold ÷ read",
      of: "folded",
      per: "raw",
      better: "more",
      target: { postgres: 0.9, eventstoredb: 0.85 },
      floor: { postgres: 0.75, eventstoredb: 0.7 },
    },
    {
      id: "6 verified",
      title: "the same with every hash verified ÷ read",
      of: "verified",
      per: "raw",
      better: "more",
      target: { postgres: 0.5, eventstoredb: 0.8 },
      floor: { postgres: 0.4, eventstoredb: 0.65 },
    },
  ],
  open: onStoreEnvironment(openOn),
}

async function openOn(
  ground: StoreEnvironment,
  { signal, report }: BenchmarkContext,
): Promise<Omit<OpenBenchmark, "close">> {
  const { store } = ground
  const runner = ground.newRunner()
  const company = await openSpendingCompany(ground, runner, SIZE)
  report(`replay: writing ${CHARGES} charges`)
  await company.fill(runner, CHARGES, signal)
  const { stream } = company
  const { revision } = await loadStream(
    { store, checkpoints: ground.checkpoints },
    LEDGER_AGGREGATE,
    stream,
  )
  const events = revision + 1

  const timed = (read: () => Promise<number>) => eventsPerSecond(events, read, signal)
  return {
    measure: {
      flush: () => flushMicroseconds(ground.pool),
      raw: () =>
        timed(async () => {
          let count = 0
          for await (const page of store.read(stream)) count += page.length
          return count
        }),
      folded: () =>
        timed(async () => {
          const checkpoints = openMemoryCheckpoints()
          return (await loadStream({ store, checkpoints }, LEDGER_AGGREGATE, stream)).revision + 1
        }),
      verified: () => timed(() => verify(ground, stream)),
    },
    check: () => company.check(runner),
  }
}

/** Folds a ledger and computes the hash of every event. Returns the number of events. */
async function verify({ store }: StoreEnvironment, stream: string): Promise<number> {
  let state = ledgerDecider.initial()
  let previous = NO_HASH
  let count = 0
  for await (const page of store.read(stream)) {
    for (const stored of page) {
      const { hash, version } = readMetadata(stored.metadata)
      assertMeasurement(
        expectedHash(stored, previous) === hash,
        `the chain breaks at ${stored.revision}`,
      )
      previous = hash
      state = ledgerDecider.evolve(
        state,
        LEDGER_AGGREGATE.codec.decode(stored.type, version, stored.data),
      )
      count += 1
    }
  }
  return count
}
