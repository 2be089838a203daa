/**
 * Run in a process of its own: follows all stored events from the start to the head with a slow subscriber, and prints
 * their number and the process's peak memory.
 */
import { setImmediate as turn } from "node:timers/promises"
import type { EventStore } from "../../adapters/eventstore/port.ts"
import { START } from "../../adapters/eventstore/port.ts"

const { FOLLOWED_STORE: name, FOLLOWED_URL: url = "" } = process.env
const store = await openStore()
// The reader has time to read ahead, so that a backlog becomes visible.
const TURNS_A_BATCH = 20

const before = process.memoryUsage.rss()
let events = 0
let peak = 0
const caughtUp = Promise.withResolvers<void>()
const subscription = store.subscribeAll(
  { after: START },
  {
    onEvents: async (batch) => {
      events += batch.length
      for (let i = 0; i < TURNS_A_BATCH; i += 1) await turn()
      peak = Math.max(peak, process.memoryUsage.rss())
    },
    onCaughtUp: () => caughtUp.resolve(),
    onInterrupted: () => undefined,
  },
)
await caughtUp.promise
await subscription.stop()
await store.close()
process.stdout.write(JSON.stringify({ events, took: peak - before }))

/** Loads only the measured modules. */
async function openStore(): Promise<EventStore> {
  if (name === "postgres") {
    const { openPostgresEventStore } =
      await import("../../adapters/eventstore/postgres/event-store.ts")
    return openPostgresEventStore({ url })
  }
  const { openEventStoreDb } = await import("../../adapters/eventstore/eventstoredb/event-store.ts")
  return openEventStoreDb({ url })
}
