/**
 * Run in a process of its own: reads the ledgers of so many companies, one by one, and prints their memory after the
 * collector has run, and their number.
 */
import { LEDGER_AGGREGATE } from "../../domain/charging/aggregates.ts"
import { performance } from "node:perf_hooks"
import { openMemoryCheckpoints } from "../../adapters/postgres/checkpoints/checkpoints.ts"
import { machinePacer } from "../../adapters/machine/clock/database-clock.ts"
import { openPostgresEventStore } from "../../adapters/eventstore/postgres/event-store.ts"
import { openMemoryLocks } from "../../adapters/postgres/locks/locks.ts"
import { openPool } from "../../adapters/postgres/database.ts"
import { ledgerRevision } from "../../domain/charging/ledger-views.ts"
import { openRunner } from "../../src/frame/writer/runner.ts"

const { LOOKED_URL: url = "", LOOKED_COUNT: count = "", LOOKED_BOUND: bound = "" } = process.env
const TOGETHER = 20
const fail = (what: unknown): never => {
  throw what instanceof Error ? what : new Error(String(what))
}

const pool = openPool(url, 1, fail)
const { rows } = await pool.query<{ stream: string }>(
  "select stream from public.grown order by place limit $1",
  [Number(count)],
)
await pool.end()
const store = openPostgresEventStore({ url })
const runner = openRunner({
  store,
  checkpoints: openMemoryCheckpoints(),
  clock: { now: () => Math.round(performance.timeOrigin + performance.now()) },
  pacer: machinePacer,
  locks: openMemoryLocks(machinePacer),
  warn: fail,
  ...(bound === "" ? {} : { maxBytes: Number(bound) }),
})
const streams = rows.map(({ stream }) => stream)
// Loaded and compiled code is not measured.
await readCompanies(streams.slice(0, 1))
const before = bytesInUse()
const looked = await readCompanies(streams)
const bytes = bytesInUse() - before
await store.close()
process.stdout.write(JSON.stringify({ looked, bytes }))

async function readCompanies(some: readonly string[]): Promise<number> {
  let there = 0
  for (let i = 0; i < some.length; i += TOGETHER) {
    const looking = some.slice(i, i + TOGETHER).map(async (stream) => {
      if ((await runner.read({ aggregate: LEDGER_AGGREGATE, stream }, ledgerRevision)) >= 0)
        there += 1
    })
    await Promise.all(looking)
  }
  return there
}

function bytesInUse(): number {
  globalThis.gc?.()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
