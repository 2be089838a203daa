/** Ratio 8: a billing export, compared with `COPY` of the same lines, and the memory of a long one. */
import { execFile } from "node:child_process"
import { performance } from "node:perf_hooks"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import type { BillFormat } from "../../src/billing/formats.ts"
import { writeOpenedBill } from "../../src/billing/write-bill.ts"
import type { Benchmark, OpenBenchmark, BenchmarkContext } from "../benchmark.ts"
import { assertMeasurement } from "../benchmark.ts"
import { flushMicroseconds } from "../fixtures/flush.ts"
import type { StoreEnvironment } from "../fixtures/store-environment.ts"
import { onStoreEnvironment } from "../fixtures/on-store-environment.ts"
import {
  BILL_LINES_QUERY,
  billPorts,
  billFixture,
  writeBillLines,
  writeLedger,
} from "./bill-fixture.ts"
import { copyQuery } from "./copy-query.ts"

const LINES = 1_000_000
/** Number of lines that the timed export has. */
const TIMED_LINES = 300_000

export const exportBenchmark: Benchmark = {
  name: "export",
  title: `a bill of ${LINES.toLocaleString("en-US")} lines`,
  stores: ["postgres"],
  rounds: 5,
  figures: [
    { name: "flush", title: "one-row commit", unit: "µs" },
    { name: "copy", title: "lines copied by COPY … TO STDOUT", unit: "per second" },
    { name: "csv", title: "lines exported as CSV", unit: "per second" },
    { name: "focus", title: "lines exported as FOCUS CSV", unit: "per second" },
    { name: "parquet", title: "lines exported as FOCUS Parquet", unit: "per second" },
    { name: "memory", title: "memory taken by a CSV of 1,000,000 lines", unit: "bytes" },
  ],
  ratios: [
    {
      id: "8",
      title: "a billing export as CSV ÷ COPY of the same lines",
      of: "csv",
      per: "copy",
      better: "more",
      target: 0.6,
      floor: 0.3,
    },
    {
      id: "8 memory",
      title: "most memory that a CSV of 1,000,000 lines takes",
      of: "memory",
      per: null,
      better: "less",
      target: 300_000_000,
      floor: null,
    },
  ],
  open: onStoreEnvironment(openOn),
}

async function openOn(
  ground: StoreEnvironment,
  { signal, report }: BenchmarkContext,
): Promise<Omit<OpenBenchmark, "close">> {
  const { pool, store } = ground
  report(`export: writing ${LINES.toLocaleString("en-US")} lines`)
  await writeBillLines(pool, LINES)
  const hashes = await writeLedger(pool, LINES, [TIMED_LINES - 1, LINES - 1])
  const hashOf = (lines: number) => hashes.get(lines - 1) ?? ""
  const perSecond = (begun: number) => (TIMED_LINES * 1_000) / (performance.now() - begun)
  const exported = (format: BillFormat) => async (): Promise<number> => {
    let bytes = 0
    const begun = performance.now()
    const target = {
      send: async (piece: string | Uint8Array) => {
        bytes += piece.length
      },
      progress: () => undefined,
      signal,
    }
    const { lines } = await writeOpenedBill(
      billPorts(store),
      billFixture(TIMED_LINES, hashOf(TIMED_LINES)),
      format,
      target,
    )
    const rate = perSecond(begun)
    assertMeasurement(lines === TIMED_LINES, `${lines} of ${TIMED_LINES} lines were exported`)
    assertMeasurement(bytes > TIMED_LINES * 10, `${bytes} bytes were exported`)
    return rate
  }
  return {
    measure: {
      flush: () => flushMicroseconds(pool),
      copy: async () => {
        const begun = performance.now()
        const { lines } = await copyQuery(pool, `${BILL_LINES_QUERY} limit ${TIMED_LINES}`)
        const rate = perSecond(begun)
        assertMeasurement(lines === TIMED_LINES, `${lines} of ${TIMED_LINES} lines were copied`)
        return rate
      },
      csv: exported("csv"),
      focus: exported("focus-csv"),
      parquet: exported("focus-parquet"),
      memory: () => peakBytes(ground, hashOf(LINES), signal),
    },
    check: async () => {
      const { rows } = await pool.query<{ count: number }>("select count(*) from read.charges")
      assertMeasurement(Number(rows[0]?.count) === LINES, "lines are missing")
    },
  }
}

/** Memory of a process of its own for the whole bill. */
async function peakBytes(
  { databaseUrl }: StoreEnvironment,
  hash: string,
  signal: AbortSignal,
): Promise<number> {
  const script = fileURLToPath(new URL("export-million.ts", import.meta.url))
  const env = {
    ...process.env,
    EXPORTED_URL: databaseUrl,
    EXPORTED_LINES: String(LINES),
    EXPORTED_HASH: hash,
  }
  const { stdout } = await promisify(execFile)(process.execPath, [script], { signal, env })
  const { lines, took } = JSON.parse(stdout) as { lines: number; took: number }
  assertMeasurement(lines === LINES, `${lines} lines were exported`)
  return took
}
