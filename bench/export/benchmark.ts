/** Ratio 8: a billing export beside `COPY` of the same lines, and the memory of a long one. */
import { execFile } from "node:child_process"
import { performance } from "node:perf_hooks"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import type { BillFormat } from "../../src/billing/formats.ts"
import { writeOpened } from "../../src/billing/write-bill.ts"
import type { Benchmark, Opened, Setting } from "../benchmark.ts"
import { honest } from "../benchmark.ts"
import { flushMicroseconds } from "../ground/flush.ts"
import type { Ground } from "../ground/ground.ts"
import { onGround } from "../ground/open-on.ts"
import { SAME_LINES, billPorts, openedBill, writeBillLines, writeLedger } from "./bill.ts"
import { copied } from "./copied.ts"

const LINES = 1_000_000
/** So many of them are exported where it is timed. */
const TIMED = 300_000

/** Exports. */
export const exportBills: Benchmark = {
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
  open: onGround(openOn),
}

async function openOn(ground: Ground, { signal, report }: Setting): Promise<Omit<Opened, "close">> {
  const { pool, store } = ground
  report(`export: writing ${LINES.toLocaleString("en-US")} lines`)
  await writeBillLines(pool, LINES)
  const hashes = await writeLedger(pool, LINES, [TIMED - 1, LINES - 1])
  const hashOf = (lines: number) => hashes.get(lines - 1) ?? ""
  const perSecond = (begun: number) => (TIMED * 1_000) / (performance.now() - begun)
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
    const { lines } = await writeOpened(
      billPorts(store),
      openedBill(TIMED, hashOf(TIMED)),
      format,
      target,
    )
    const rate = perSecond(begun)
    honest(lines === TIMED, `${lines} of ${TIMED} lines were exported`)
    honest(bytes > TIMED * 10, `${bytes} bytes were exported`)
    return rate
  }
  return {
    measure: {
      flush: () => flushMicroseconds(pool),
      copy: async () => {
        const begun = performance.now()
        const { lines } = await copied(pool, `${SAME_LINES} limit ${TIMED}`)
        const rate = perSecond(begun)
        honest(lines === TIMED, `${lines} of ${TIMED} lines were copied`)
        return rate
      },
      csv: exported("csv"),
      focus: exported("focus-csv"),
      parquet: exported("focus-parquet"),
      memory: () => mostBytes(ground, hashOf(LINES), signal),
    },
    check: async () => {
      const { rows } = await pool.query<{ count: number }>("select count(*) from read.charges")
      honest(Number(rows[0]?.count) === LINES, "lines are missing")
    },
  }
}

/** What a process of its own needs for the whole bill. */
async function mostBytes(
  { databaseUrl }: Ground,
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
  honest(lines === LINES, `${lines} lines were exported`)
  return took
}
