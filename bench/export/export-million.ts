/**
 * Run in a process of its own: exports a bill as CSV, discards the output, and prints the number of lines and the
 * process's peak memory for it.
 */
import { openPostgresEventStore } from "../../adapters/eventstore/postgres/event-store.ts"
import { writeOpenedBill } from "../../src/billing/write-bill.ts"
import { billPorts, billFixture } from "./bill-fixture.ts"

const { EXPORTED_URL: url = "", EXPORTED_LINES: count = "", EXPORTED_HASH: hash = "" } = process.env
const store = openPostgresEventStore({ url })
// Loading and connecting are not measured.
await store.head()
const before = process.memoryUsage.rss()
let peak = 0
const { lines } = await writeOpenedBill(billPorts(store), billFixture(Number(count), hash), "csv", {
  send: async () => {
    peak = Math.max(peak, process.memoryUsage.rss())
  },
  progress: () => undefined,
  signal: new AbortController().signal,
})
await store.close()
process.stdout.write(JSON.stringify({ lines, took: peak - before }))
