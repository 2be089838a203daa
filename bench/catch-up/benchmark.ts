/** Ratio 7: read models that catch up with all stored events, compared with only reading them. */
import { PROGRAM } from "../../src/slices.ts"
import { performance } from "node:perf_hooks"
import type { Transaction } from "kysely"
import { START } from "../../adapters/eventstore/port.ts"
import { kyselyOnConnection } from "../../adapters/postgres/database.ts"
import { startProjector } from "../../adapters/postgres/projector/projector.ts"
import { inTransaction } from "../../adapters/postgres/projector/tables.ts"
import type { Projection } from "../../projections/kernel/projection.ts"
import type { Benchmark, OpenBenchmark, BenchmarkContext } from "../benchmark.ts"
import { assertMeasurement } from "../benchmark.ts"
import { openSpendingCompany } from "../fixtures/spending-company.ts"
import { flushMicroseconds } from "../fixtures/flush.ts"
import type { StoreEnvironment } from "../fixtures/store-environment.ts"
import { onStoreEnvironment } from "../fixtures/on-store-environment.ts"
import { dropReadModels } from "../../test/support/read-models.ts"
import { chargesProjection, projectorPorts } from "./charges-projection.ts"

const SIZE = { people: 20, keys: 40 }
const CHARGES = 50_000
/** One transaction per event is so slow that a part of the events must do. */
const SINGLE_EVENTS = 1_000
const CAUGHT_UP_WITHIN_MS = 120_000

export const catchUpBenchmark: Benchmark = {
  name: "catch-up",
  title: `read models that catch up with ${CHARGES.toLocaleString("en-US")} charges`,
  stores: ["postgres", "eventstoredb"],
  rounds: 5,
  figures: [
    { name: "flush", title: "one-row commit", unit: "µs" },
    { name: "raw", title: "events read from $all", unit: "per second" },
    { name: "charges", title: "events into the read model charges", unit: "per second" },
    { name: "all", title: "events into all read models", unit: "per second" },
    { name: "single", title: "events into charges, one transaction each", unit: "per second" },
  ],
  ratios: [
    {
      id: "7",
      title: "the read model charges ÷ reading $all",
      of: "charges",
      per: "raw",
      better: "more",
      target: { postgres: 0.3, eventstoredb: 0.6 },
      floor: { postgres: 0.18, eventstoredb: 0.45 },
    },
    {
      id: "7 all",
      title: "all read models together ÷ reading $all",
      of: "all",
      per: "raw",
      better: "more",
      target: null,
      floor: null,
    },
    {
      id: "7 single",
      title: "the read model charges ÷ one transaction an event",
      of: "charges",
      per: "single",
      better: "more",
      target: { postgres: 30, eventstoredb: 20 },
      floor: { postgres: 15, eventstoredb: 12 },
    },
  ],
  open: onStoreEnvironment(openOn),
}

async function openOn(
  ground: StoreEnvironment,
  { signal, report }: BenchmarkContext,
): Promise<Omit<OpenBenchmark, "close">> {
  const { store, pool } = ground
  const runner = ground.newRunner()
  const company = await openSpendingCompany(ground, runner, SIZE)
  report(`catch-up: writing ${CHARGES} charges`)
  await company.fill(runner, CHARGES, signal)
  const events = await countAll(ground)
  const perSecond = (count: number, begun: number) => (count * 1_000) / (performance.now() - begun)

  const caughtUp = async (projections: readonly Projection[]): Promise<number> => {
    signal.throwIfAborted()
    await dropReadModels(ground.pool)
    const begun = performance.now()
    const projector = await startProjector(projectorPorts(ground), projections, [])
    try {
      const head = await store.head()
      const isThere = await projector.waitUntilWritten(head, CAUGHT_UP_WITHIN_MS)
      assertMeasurement(isThere, "the read models did not catch up")
      return perSecond(events, begun)
    } finally {
      await projector.close()
    }
  }
  return {
    measure: {
      flush: () => flushMicroseconds(pool),
      raw: async () => {
        const begun = performance.now()
        assertMeasurement((await countAll(ground)) === events, "the store has grown")
        return perSecond(events, begun)
      },
      charges: async () => {
        const rate = await caughtUp([chargesProjection])
        const { rows } = await pool.query<{ count: number }>(
          "select count(*) from read.charges where kind = 'charge'",
        )
        const count = Number(rows[0]?.count)
        assertMeasurement(count >= CHARGES, `${count} of ${CHARGES} charges are shown`)
        return rate
      },
      all: () => caughtUp(PROGRAM.readModels),
      single: () => applyOneByOne(ground),
    },
    check: () => company.check(runner),
  }
}

async function countAll({ store }: StoreEnvironment): Promise<number> {
  let count = 0
  for await (const page of store.readAll({})) count += page.length
  return count
}

/** Writes the first facts, each in its own transaction with its position. */
async function applyOneByOne(ground: StoreEnvironment): Promise<number> {
  await dropReadModels(ground.pool)
  const { asyncCommitPool, store } = ground
  const projector = await startProjector(projectorPorts(ground), [chargesProjection], [])
  await projector.close()
  await asyncCommitPool.query("truncate read.charges")
  const { opener } = projectorPorts(ground)
  const range = { after: START, prefixes: chargesProjection.categories, limit: SINGLE_EVENTS }
  const begun = performance.now()
  let count = 0
  for await (const page of store.readAll(range)) {
    for (const stored of page) {
      await inTransaction(asyncCommitPool, async (client) => {
        const { commit, prepare } = stored.position
        await client.query(
          `update ledger.projections set commit_position = $2, prepare_position = $3
           where name = $1`,
          [chargesProjection.name, commit, prepare],
        )
        await client.query("set local search_path to read")
        await chargesProjection.apply(
          kyselyOnConnection(client) as Transaction<unknown>,
          [PROGRAM.streams.toRecorded(stored)],
          opener,
        )
      })
      count += 1
    }
  }
  return (count * 1_000) / (performance.now() - begun)
}
