import { expect, it } from "vitest"

import { type AppendFault, openMemoryEventStore } from "../../adapters/eventstore/memory.ts"
import { NO_STREAM, START, Unavailable, UnknownOutcome } from "../../adapters/eventstore/port.ts"
import { collectEvents, subscribeRecording, eventIdsOf, someEvents } from "./event-store-fixture.ts"

it("begins before the first event and counts from 0", async () => {
  const store = openMemoryEventStore()
  expect(await store.head()).toEqual(START)
  await store.append("a", someEvents(2), NO_STREAM)
  expect(await store.head()).toEqual({ commit: 1n, prepare: 1n })
})

it.each([
  ["stored-unknown", UnknownOutcome, 1],
  ["unstored-unknown", UnknownOutcome, 0],
  ["unavailable", Unavailable, 0],
] as const)("fails on demand: %s", async (fault, error, stored) => {
  const faults: AppendFault[] = [fault]
  const store = openMemoryEventStore({ chooseFault: () => faults.shift() ?? "none" })
  const events = someEvents(1)
  await expect(store.append("a", events, NO_STREAM)).rejects.toThrow(error)
  expect(await collectEvents(store.read("a"))).toHaveLength(stored)
  expect((await store.append("a", events, NO_STREAM)).revision).toBe(0)
  expect(eventIdsOf(await collectEvents(store.read("a")))).toEqual(eventIdsOf(events))
})

it("passes each append to `chooseFault`", async () => {
  const seen: unknown[] = []
  const store = openMemoryEventStore({
    chooseFault: (attempt) => {
      seen.push(attempt)
      return "none"
    },
  })
  const events = someEvents(1)
  await store.append("a", events, NO_STREAM)
  expect(seen).toEqual([{ stream: "a", events, expectedRevision: NO_STREAM }])
})

it("reports an interruption once, and then that the subscriber caught up", async () => {
  const store = openMemoryEventStore()
  await store.append("a", someEvents(1), NO_STREAM)
  const follower = subscribeRecording(store, {})
  await follower.until(() => follower.heads.length === 1)
  store.interrupt(new Error("gone"))
  await follower.until(() => follower.heads.length === 2)
  expect(follower.interruptions).toEqual([new Error("gone")])
  expect(follower.events).toHaveLength(1)
  await store.close()
})

it("does not report that a subscriber caught up by a head from before an interruption", async () => {
  const store = openMemoryEventStore()
  await store.append("a", someEvents(1), NO_STREAM)
  const notifications: string[] = []
  const subscription = store.subscribeAll(
    {},
    {
      onEvents: async () => {
        store.interrupt(new Error("gone"))
        notifications.push("events")
      },
      onInterrupted: () => notifications.push("interrupted"),
      onCaughtUp: () => void notifications.push("caught up"),
    },
  )
  // Two later subscriptions: the first one gets its notifications before they have caught up.
  for (const later of [subscribeRecording(store, {}), subscribeRecording(store, {})]) {
    await later.until(() => later.heads.length > 0)
  }
  await subscription.stop()
  expect(notifications).toEqual(["interrupted", "events", "caught up"])
  await store.close()
})

it("needs only microtasks", async () => {
  const store = openMemoryEventStore()
  const follower = subscribeRecording(store, {})
  let turned = false
  const turn = setImmediate(() => {
    turned = true
  })
  await store.append("a", someEvents(3), NO_STREAM)
  await follower.until(() => follower.events.length === 3)
  await follower.subscription.stop()
  expect(turned).toBe(false)
  clearImmediate(turn)
})
