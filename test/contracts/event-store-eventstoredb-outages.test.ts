import { describe, expect, it } from "vitest"

import {
  comparePositions,
  NO_STREAM,
  START,
  Unavailable,
  UnknownOutcome,
} from "../../adapters/eventstore/port.ts"
import {
  appendUntilStored,
  EventStoreDbUnderTest,
  retryWhileLost,
  untilTrue,
} from "./event-store-eventstoredb-fixture.ts"
import { collectEvents, subscribeRecording, eventIdsOf, someEvents } from "./event-store-fixture.ts"
import { scaledMs } from "../support/scaled-time.ts"

const eventStoreDb = new EventStoreDbUnderTest()

describe("EventStoreDB: a server that does not answer", () => {
  it("10: times out an append, which may be stored", async () => {
    const server = await eventStoreDb.start()
    const store = eventStoreDb.open(server, { appendTimeoutMs: 300 })
    await appendUntilStored(store, "a", someEvents(1), NO_STREAM)
    server.relay.freeze()
    const events = someEvents(1)
    const begun = performance.now()
    await expect(store.append("a", events, 0)).rejects.toThrow(UnknownOutcome)
    // Two of the client's own keep-alives would take 20 seconds.
    expect(performance.now() - begun).toBeLessThan(scaledMs(10_000))
    // Nothing can be sent now, so the next append is known not to be stored.
    await expect(store.append("a", someEvents(1), 0)).rejects.toThrow(Unavailable)
    server.relay.thaw()
    expect((await appendUntilStored(store, "a", events, 0)).revision).toBe(1)
  })

  it("11: times out a connection attempt, and leaves no connection behind", async () => {
    const server = await eventStoreDb.start()
    const store = eventStoreDb.open(server, { appendTimeoutMs: 300 })
    server.relay.freeze()
    const events = someEvents(1)
    while (server.relay.accepted < 3) {
      await expect(store.append("a", events, NO_STREAM)).rejects.toThrow(Unavailable)
    }
    server.relay.thaw()
    expect((await appendUntilStored(store, "a", events, NO_STREAM)).revision).toBe(0)
    await untilTrue(() => server.relay.connections === 1)
    expect(server.relay.accepted).toBeGreaterThan(3)
  })

  it("10: times out a read", async () => {
    const server = await eventStoreDb.start()
    const store = eventStoreDb.open(server, { readTimeoutMs: 200 })
    await appendUntilStored(store, "a", someEvents(1), NO_STREAM)
    server.relay.freeze()
    await expect(collectEvents(store.read("a"))).rejects.toThrow("did not answer within 200 ms")
    await expect(store.head()).rejects.toThrow(Unavailable)
    server.relay.thaw()
    expect(await retryWhileLost(() => collectEvents(store.read("a")))).toHaveLength(1)
    // The clients without an answer have disconnected, including the one that appended events.
    await untilTrue(() => server.relay.connections === 1)
    expect(server.relay.accepted).toBeGreaterThan(1)
  })

  it("10: interrupts subscribers, which reconnect by themselves", async () => {
    const server = await eventStoreDb.start()
    const store = eventStoreDb.open(server, { readTimeoutMs: 200, pollMs: 20 })
    await appendUntilStored(store, "a", someEvents(1), NO_STREAM)
    const follower = subscribeRecording(store, {})
    await follower.until(() => follower.heads.length > 0)
    server.relay.freeze()
    await follower.until(() => follower.interruptions.length > 0)
    const headsBefore = follower.heads.length
    server.relay.thaw()
    await follower.until(() => follower.heads.length > headsBefore)
    await appendUntilStored(store, "a", someEvents(1), 0)
    await follower.until(() => follower.events.length === 2)
    expect(follower.interruptions[0]).toEqual(
      new Unavailable("The event store did not answer within 400 ms"),
    )
  })

  it("11: does not affect other appends when one answer is overdue, and gets a new client", async () => {
    const server = await eventStoreDb.start()
    const store = eventStoreDb.open(server, { appendTimeoutMs: scaledMs(1_500) })
    const answers: string[] = []
    server.faultOf = ({ stream }) => (stream === "silent" ? "silent-unstored" : "none")
    const silent = store.append("silent", someEvents(1), NO_STREAM)
    const others = Array.from({ length: 20 }, (_, index) =>
      store.append(`s-${index}`, someEvents(1), NO_STREAM).then(() => answers.push("answered")),
    )
    await Promise.all(others)
    await expect(silent).rejects.toThrow(UnknownOutcome)
    expect(answers).toHaveLength(20)
    expect(server.counts.batchAppends).toBe(1)
    await store.append("after", someEvents(1), NO_STREAM)
    expect(server.counts.batchAppends).toBe(2)
    // The first client is no longer needed and disconnects.
    await untilTrue(() => server.relay.connections === 1)
    expect(server.relay.accepted).toBe(2)
  })

  it("11: does not lose answers when another server dies", async () => {
    const [here, there] = [await eventStoreDb.start(), await eventStoreDb.start()]
    const [store, other] = [eventStoreDb.open(here), eventStoreDb.open(there)]
    await Promise.all([store, other].map((one) => one.append("a", someEvents(1), NO_STREAM)))
    here.relay.freeze()
    there.relay.freeze()
    const pending = Array.from({ length: 16 }, (_, index) =>
      store.append(`s-${index}`, someEvents(1), NO_STREAM),
    )
    const lost = expect(other.append("a", someEvents(1), 0)).rejects.toThrow(UnknownOutcome)
    await there.relay.refuse()
    await lost
    here.relay.thaw()
    const revisions = (await Promise.all(pending)).map(({ revision }) => revision)
    expect(revisions).toEqual(pending.map(() => 0))
    expect((await store.append("a", someEvents(1), 0)).revision).toBe(1)
    expect(here.counts.batchAppends).toBe(1)
  })

  it("18: does not prevent a store from closing", async () => {
    const server = await eventStoreDb.start()
    const store = eventStoreDb.open(server, { appendTimeoutMs: 300 })
    await appendUntilStored(store, "a", someEvents(2_000), NO_STREAM)
    const follower = subscribeRecording(store, {})
    await follower.until(() => follower.heads.length > 0)
    const append = (async () => {
      for await (const page of store.read("a", { direction: "backwards" })) {
        expect(page[0]?.revision).toBe(1_999)
        server.relay.freeze()
        break
      }
      return store.append("a", someEvents(1), 1_999)
    })()
    await expect(append).rejects.toThrow(UnknownOutcome)
    const begun = performance.now()
    await store.close()
    expect(performance.now() - begun).toBeLessThan(scaledMs(10_000))
    await expect(follower.subscription.ended).resolves.toBeUndefined()
  })
})

describe("EventStoreDB: subscribers", () => {
  it("12: continue at their position after an interruption, which is reported once", async () => {
    const server = await eventStoreDb.start()
    const store = eventStoreDb.open(server)
    const written = someEvents(40)
    const follower = subscribeRecording(store, {})
    for (const [index, event] of written.entries()) {
      if (index % 10 === 9) server.relay.cut()
      await appendUntilStored(store, "a", [event], index - 1)
      if (index % 10 === 5) await follower.until(() => follower.events.length === index + 1)
    }
    await follower.until(() => follower.events.length === 40)
    expect(eventIdsOf(follower.events)).toEqual(eventIdsOf(written))
    expect(follower.interruptions).toHaveLength(4)
    expect(follower.interruptions[0]).toBeInstanceOf(Unavailable)
  })

  it("12: catch up after an interruption without new events", async () => {
    const server = await eventStoreDb.start()
    const store = eventStoreDb.open(server)
    const { position } = await store.append("a", someEvents(1), NO_STREAM)
    const follower = subscribeRecording(store, {})
    await follower.until(() => follower.heads.length === 1)
    server.relay.cut()
    await follower.until(() => follower.heads.length === 2)
    expect(follower.heads).toEqual([position, position])
    expect(follower.interruptions).toHaveLength(1)
    expect(follower.events).toHaveLength(1)
  })

  it.each(["23.10", "24.2"] as const)(
    "13: are not interrupted if they are too slow for %s",
    async (version) => {
      const server = await eventStoreDb.start({ version })
      const store = eventStoreDb.open(server)
      const follower = subscribeRecording(store, {})
      await untilTrue(() => server.subscribers === 1)
      const batches = Array.from({ length: 4 }, () => someEvents(500))
      for (const [index, batch] of batches.entries()) {
        await store.append("a", batch, index * 500 - 1)
        await follower.until(() => follower.events.length === (index + 1) * 500)
      }
      expect(eventIdsOf(follower.events)).toEqual(eventIdsOf(batches.flat()))
      expect(follower.interruptions).toEqual([])
      const end = follower.events.at(-1)?.position ?? START
      await follower.until(() => comparePositions(follower.heads.at(-1) ?? START, end) === 0)
      if (version === "23.10") expect(server.counts.subscriptions).toBeGreaterThan(1)
      else expect(server.counts.subscriptions).toBe(1)
    },
  )

  it("13: miss no event and get none twice while they are dropped repeatedly", async () => {
    const server = await eventStoreDb.start({ version: "23.10" })
    const store = eventStoreDb.open(server)
    const follower = subscribeRecording(store, { prefixes: ["a"] })
    const written = someEvents(150)
    for (const [index, event] of written.entries()) {
      await store.append("a", [event], index - 1)
      if (index % 7 === 0) server.dropSubscribers()
    }
    await follower.until(() => follower.events.length === written.length)
    expect(eventIdsOf(follower.events)).toEqual(eventIdsOf(written))
    expect(follower.interruptions).toEqual([])
  })

  it("13: read the events of a busy time later instead of buffering them", async () => {
    const server = await eventStoreDb.start()
    const store = eventStoreDb.open(server)
    const leave = Promise.withResolvers<void>()
    const follower = subscribeRecording(store, {}, () => leave.promise)
    await untilTrue(() => server.subscribers === 1)
    const batches = Array.from({ length: 7 }, () => someEvents(500))
    for (const [index, batch] of batches.entries()) {
      await store.append("a", batch, index * 500 - 1)
    }
    await untilTrue(() => server.subscribers === 0)
    leave.resolve()
    await follower.until(() => follower.events.length === 3_500)
    expect(eventIdsOf(follower.events)).toEqual(eventIdsOf(batches.flat()))
    await untilTrue(() => server.counts.subscriptions === 2)
    expect(follower.interruptions).toEqual([])
  })

  it("11: poll if the server stops sending events", async () => {
    const server = await eventStoreDb.start()
    const store = eventStoreDb.open(server, { pollMs: 20 })
    const follower = subscribeRecording(store, {})
    await follower.until(() => follower.heads.length > 0)
    server.isMute = true
    const events = someEvents(3)
    await store.append("a", events, NO_STREAM)
    await follower.until(() => follower.events.length === 3)
    expect(eventIdsOf(follower.events)).toEqual(eventIdsOf(events))
    expect(follower.interruptions).toEqual([])
  })
})
