/** Ratio 6: reading a stream back and folding it, beside reading it and nothing else. */
import { LEDGER } from "../../domain/charging/aggregates.ts"
import { openMemoryCheckpoints } from "../../adapters/postgres/checkpoints/checkpoints.ts"
import { ledger } from "../../domain/charging/ledger.ts"
import { NO_HASH, expectedHash, readMetadata } from "../../src/frame/kernel/envelope.ts"
import { loadStream } from "../../src/frame/writer/runner/load.ts"
import type { Benchmark, Opened, Setting } from "../benchmark.ts"
import { honest } from "../benchmark.ts"
import { openCompany } from "../ground/company.ts"
import { eventsPerSecond } from "../ground/events-per-second.ts"
import { flushMicroseconds } from "../ground/flush.ts"
import type { Ground } from "../ground/ground.ts"
import { onGround } from "../ground/open-on.ts"

const SIZE = { people: 20, keys: 40 }
const CHARGES = 50_000

/** Replay of one ledger. */
export const replay: Benchmark = {
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
  open: onGround(openOn),
}

async function openOn(ground: Ground, { signal, report }: Setting): Promise<Omit<Opened, "close">> {
  const { store } = ground
  const runner = ground.newRunner()
  const company = await openCompany(ground, runner, SIZE)
  report(`replay: writing ${CHARGES} charges`)
  await company.fill(runner, CHARGES, signal)
  const { stream } = company
  const { revision } = await loadStream({ store, checkpoints: ground.checkpoints }, LEDGER, stream)
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
          return (await loadStream({ store, checkpoints }, LEDGER, stream)).revision + 1
        }),
      verified: () => timed(() => verify(ground, stream)),
    },
    check: () => company.check(runner),
  }
}

/** Folds a ledger and recomputes the hash of every event. Answers how many there are. */
async function verify({ store }: Ground, stream: string): Promise<number> {
  let state = ledger.initial()
  let previous = NO_HASH
  let count = 0
  for await (const page of store.read(stream)) {
    for (const stored of page) {
      const { hash, version } = readMetadata(stored.metadata)
      honest(expectedHash(stored, previous) === hash, `the chain breaks at ${stored.revision}`)
      previous = hash
      state = ledger.evolve(state, LEDGER.codec.decode(stored.type, version, stored.data))
      count += 1
    }
  }
  return count
}
