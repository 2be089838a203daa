/**
 * Run in a process of its own: exports a bill as CSV, its pieces thrown away, and prints how many
 * lines there were and how much memory the process took for it at most.
 */
import { openPool } from "../../../adapters/postgres/database.ts"
import { writeOpened } from "../../../src/exports/write-bill.ts"
import { BILL_PORTS, openedBill, readOf } from "./bill.ts"

const { EXPORTED_URL: url = "", EXPORTED_LINES: count = "" } = process.env
const pool = openPool(url, 2, (error) => {
  throw error
})
// What is loaded and connected once is no part of it.
await pool.query("select 1")
const before = process.memoryUsage.rss()
let peak = 0
const { lines } = await writeOpened(
  BILL_PORTS,
  openedBill(Number(count)),
  { read: readOf(pool), format: "csv" },
  {
    send: async () => {
      peak = Math.max(peak, process.memoryUsage.rss())
    },
    progress: () => undefined,
    signal: new AbortController().signal,
  },
)
await pool.end()
process.stdout.write(JSON.stringify({ lines, took: peak - before }))
