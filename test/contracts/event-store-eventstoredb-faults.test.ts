import { describe, expect, it } from "vitest"

import {
  AccessDenied,
  CorruptStream,
  NO_STREAM,
  AppendTooLarge,
  Unavailable,
  UnknownOutcome,
  WrongRevision,
} from "../../adapters/eventstore/port.ts"
import type { ServerAppendFault } from "../support/eventstoredb-server/appending.ts"
import {
  appendUntilStored,
  EventStoreDbUnderTest,
  untilTrue,
} from "./event-store-eventstoredb-fixture.ts"
import {
  anEvent,
  collectEvents,
  subscribeRecording,
  eventIdsOf,
  someEvents,
} from "./event-store-fixture.ts"
import { scaledMs } from "../support/scaled-time.ts"

const eventStoreDb = new EventStoreDbUnderTest()

type Server = Awaited<ReturnType<typeof eventStoreDb.start>>

/** Makes a server's next append fail this way. */
function failOnce(server: Server, fault: ServerAppendFault): void {
  const faults: ServerAppendFault[] = [fault]
  server.faultOf = () => faults.shift() ?? "none"
}

/** A server whose first append fails this way. */
async function failingOnce(fault: ServerAppendFault): Promise<Server> {
  const server = await eventStoreDb.start()
  failOnce(server, fault)
  return server
}

// The numbers in titles are those of our list of observed behaviors of the client and of real servers. Two
// have no test: persistent subscriptions (15), which are not used, and speed (16), which benchmarks measure.
describe("EventStoreDB: an answer of the server", () => {
  it("2: becomes an error with the expected and the found revision", async () => {
    const store = eventStoreDb.open(await eventStoreDb.start())
    await store.append("a", someEvents(3), NO_STREAM)
    const rejected = await store.append("a", someEvents(1), 0).catch((error: unknown) => error)
    expect(rejected).toEqual(new WrongRevision("a", 0, 2))
    expect((rejected as Error).message).toBe("stream a: expected revision 0, found 2")
  })

  it.each([
    ["not-ready", Unavailable, "Server Is Not Ready"],
    ["busy", Unavailable, "Server Is Busy"],
    ["no-leader", Unavailable, "No leader info"],
    ["denied", AccessDenied, "rejected the credentials"],
    ["deleted", CorruptStream, "was deleted"],
    ["too-large", AppendTooLarge, "limit of 1048576 bytes"],
    ["bad-request", RangeError, "cannot store this append: no"],
  ] as const)("9: says that nothing was stored: %s", async (fault, error, words) => {
    const store = eventStoreDb.open(await failingOnce(fault))
    const events = someEvents(2)
    const rejected = store.append("a", events, NO_STREAM)
    await expect(rejected).rejects.toThrow(error)
    await expect(rejected).rejects.toThrow(words)
    expect(await collectEvents(store.read("a"))).toEqual([])
    expect((await store.append("a", events, NO_STREAM)).revision).toBe(1)
  })

  it.each([
    ["cut-unstored", 0],
    ["cut-stored", 2],
    ["timeout-unstored", 0],
    ["timeout-stored", 2],
    ["unknown", 0],
    ["silent-unstored", 0],
    ["silent-stored", 2],
  ] as const)(
    "3, 8: leaves the outcome unknown, and a retry with the same bytes resolves it: %s",
    async (fault, stored) => {
      const server = await eventStoreDb.start()
      const store = eventStoreDb.open(server, { appendTimeoutMs: scaledMs(300) })
      // Connects first, because an append that is not sent in time is known not to be stored.
      await appendUntilStored(store, "b", someEvents(1), NO_STREAM)
      failOnce(server, fault)
      const events = someEvents(2)
      await expect(store.append("a", events, NO_STREAM)).rejects.toThrow(UnknownOutcome)
      expect(await collectEvents(store.read("a"))).toHaveLength(stored)
      const appended = await appendUntilStored(store, "a", events, NO_STREAM)
      const found = await collectEvents(store.read("a"))
      expect(eventIdsOf(found)).toEqual(eventIdsOf(events))
      expect(appended).toEqual({ revision: 1, position: found[1]?.position })
    },
  )

  it("5: says that an append is too large for the server", async () => {
    const server = await failingOnce("too-large")
    const store = eventStoreDb.open(server)
    await expect(store.append("a", someEvents(1), NO_STREAM)).rejects.toThrow(AppendTooLarge)
    const over = [anEvent({ data: "x".repeat(1024 * 1024) })]
    await expect(store.append("a", over, NO_STREAM)).rejects.toThrow("the limit is 1048576")
    expect(server.counts.batchAppends).toBe(1)
    expect(await collectEvents(store.read("a"))).toEqual([])
  })

  it("6: rejects a wrong revision even if the connection string disables the check", async () => {
    const server = await eventStoreDb.start()
    const store = eventStoreDb.open(server, { url: `${server.url}&throwOnAppendFailure=false` })
    await store.append("a", someEvents(2), NO_STREAM)
    await expect(store.append("a", someEvents(1), 7)).rejects.toEqual(new WrongRevision("a", 7, 1))
  })

  it("7: is not needed for input that servers answer oddly", async () => {
    const server = await eventStoreDb.start()
    const store = eventStoreDb.open(server)
    await expect(store.append("a", [], NO_STREAM)).rejects.toThrow(RangeError)
    await expect(store.append("", someEvents(1), NO_STREAM)).rejects.toThrow(RangeError)
    await expect(collectEvents(store.read("a", { limit: 0 }))).rejects.toThrow(RangeError)
    await expect(collectEvents(store.readAll({ limit: 0 }))).rejects.toThrow(RangeError)
    expect(await collectEvents(store.read(""))).toEqual([])
    expect(server.counts).toEqual({ batchAppends: 0, reads: 0, subscriptions: 0 })
  })
})

describe("EventStoreDB: a leader that stores nothing but answers other requests", () => {
  it("has a waiting time of its oldest append, and is not ready even if it rejects a revision", async () => {
    const server = await eventStoreDb.start()
    const store = eventStoreDb.open(server, { appendTimeoutMs: scaledMs(300) })
    await appendUntilStored(store, "a", someEvents(1), NO_STREAM)
    expect(store.oldestAppendWaitMs()).toBe(0)
    server.faultOf = ({ types }) => (types.includes("Asked") ? "none" : "silent-unstored")
    const waiting = store.append("a", someEvents(1), 0)
    await expect.poll(() => store.oldestAppendWaitMs()).toBeGreaterThan(0)
    await store.ready()
    await expect(waiting).rejects.toThrow(UnknownOutcome)
    expect(store.oldestAppendWaitMs()).toBe(0)
    server.faultOf = () => "none"
    await expect(store.append("a", someEvents(1), 7)).rejects.toThrow(WrongRevision)
    await expect(store.ready()).rejects.toThrow("does not take appends")
    await appendUntilStored(store, "a", someEvents(1), 0)
    expect(await store.ready()).toBeUndefined()
  })
})

describe("EventStoreDB: connections", () => {
  it("4: keep the order of appends that are not awaited, even on a new connection", async () => {
    const server = await eventStoreDb.start()
    const events = someEvents(60)
    const appended = async (): Promise<readonly number[]> => {
      const store = eventStoreDb.open(server)
      const stream = `s-${server.relay.accepted}`
      const all = events.map((event, index) => store.append(stream, [event], index - 1))
      return (await Promise.all(all)).map(({ revision }) => revision)
    }
    const inOrder = events.map((_, index) => index)
    expect(await appended()).toEqual(inOrder)
    server.relay.cut()
    expect(await appended()).toEqual(inOrder)
  })

  it("8: lose and duplicate no event of 16 writers while the server is killed repeatedly", async () => {
    const server = await eventStoreDb.start()
    const store = eventStoreDb.open(server)
    const follower = subscribeRecording(store, {})
    const ids: string[] = []
    let isLoaded = true
    const writers = Array.from({ length: 16 }, async (_, writer) => {
      for (let revision = NO_STREAM; isLoaded; revision += 1) {
        const event = anEvent()
        ids.push(event.id)
        await appendUntilStored(store, `w-${writer}`, [event], revision)
      }
    })
    for (let round = 1; round <= 3; round += 1) {
      const seen = follower.heads.length
      await follower.until(() => follower.heads.length > seen + 3)
      await server.relay.refuse()
      await follower.until(() => follower.interruptions.length === round)
      await server.relay.accept()
    }
    isLoaded = false
    await Promise.all(writers)
    await follower.until(() => follower.events.length >= ids.length)
    expect(eventIdsOf(follower.events).toSorted()).toEqual(ids.toSorted())
    expect(follower.events).toEqual(await collectEvents(store.readAll()))
    expect(follower.interruptions).toHaveLength(3)
  })

  it("9: are unavailable while the server is down or starting, and recover", async () => {
    const server = await eventStoreDb.start()
    const store = eventStoreDb.open(server)
    await store.append("a", someEvents(1), NO_STREAM)
    await server.relay.refuse()
    await untilTrue(() => server.relay.connections === 0)
    // The first append may still be sent; after that the client knows that the server is down.
    await store.append("a", someEvents(1), 0).catch(() => undefined)
    await expect(store.append("a", someEvents(1), 0)).rejects.toThrow(Unavailable)
    await expect(store.append("a", someEvents(1), 0)).rejects.toThrow("ECONNREFUSED")
    await expect(collectEvents(store.read("a"))).rejects.toThrow(Unavailable)
    await expect(store.head()).rejects.toThrow(Unavailable)
    server.isReady = false
    await server.relay.accept()
    const notReady = "Server Is Not Ready"
    await expect(store.append("a", someEvents(1), 0)).rejects.toThrow(notReady)
    await expect(collectEvents(store.read("a"))).rejects.toThrow(notReady)
    server.isReady = true
    expect((await store.append("a", someEvents(1), 0)).revision).toBe(1)
  })
})
