import { setImmediate as nextTurn } from "node:timers/promises"
import { describe, expect, it } from "vitest"

import type { EventStoreDbOptions } from "../../adapters/eventstore/eventstoredb/event-store.ts"
import type { EventStore } from "../../adapters/eventstore/port.ts"
import { NO_STREAM, Unavailable, UnknownOutcome } from "../../adapters/eventstore/port.ts"
import { EventStoreDbCluster } from "../support/eventstoredb-cluster.ts"
import type { EventStoreDbServer } from "../support/eventstoredb-server.ts"
import {
  appendUntilStored,
  EventStoreDbUnderTest,
  retryWhileLost,
  untilTrue,
} from "./event-store-eventstoredb-fixture.ts"
import { collectEvents, subscribeRecording, eventIdsOf, someEvents } from "./event-store-fixture.ts"
import { scaledMs } from "../support/scaled-time.ts"

const eventStoreDb = new EventStoreDbUnderTest()

/** A cluster of so many, of which the first leads. */
async function clusterOf(count: number): Promise<EventStoreDbCluster> {
  const [first, ...others] = await Promise.all(
    Array.from({ length: count }, () => eventStoreDb.start()),
  )
  return new EventStoreDbCluster([first as EventStoreDbServer, ...others])
}

function open(cluster: EventStoreDbCluster, options: Partial<EventStoreDbOptions> = {}) {
  return eventStoreDb.open(cluster.leader, { url: cluster.url, ...options })
}

describe("EventStoreDB: a cluster", () => {
  it("is asked who leads it, and again when the leader is lost", async () => {
    const cluster = await clusterOf(2)
    const [first, second] = cluster.nodes as [EventStoreDbServer, EventStoreDbServer]
    const url = `esdb+discover://127.0.0.1:${second.port}?tls=false&discoveryInterval=10`
    const store = open(cluster, { url })
    await store.append("a", someEvents(1), NO_STREAM)
    expect(first.log.stream("a")).toHaveLength(1)
    cluster.elect(second)
    await first.relay.refuse()
    await appendUntilStored(store, "b", someEvents(1), NO_STREAM)
    expect(second.log.stream("b")).toHaveLength(1)
  })

  it("tries the nodes that the connection string names", async () => {
    const cluster = await clusterOf(3)
    await Promise.all(cluster.followers.map((node) => node.relay.refuse()))
    const store = open(cluster)
    await store.append("a", someEvents(1), NO_STREAM)
    expect(cluster.leader.log.stream("a")).toHaveLength(1)
  })

  it("is unavailable for all at once when no node answers, and then not any more", async () => {
    const cluster = await clusterOf(2)
    const [leader, follower] = cluster.nodes as [EventStoreDbServer, EventStoreDbServer]
    const url = `esdb+discover://127.0.0.1:${leader.port}?tls=false&discoveryInterval=1`
    const store = open(cluster, { url })
    await store.append("a", someEvents(1), NO_STREAM)
    const subscriber = subscribeRecording(store, {})
    await subscriber.until(() => subscriber.heads.length > 0)
    await Promise.all([leader.relay.refuse(), follower.relay.refuse()])
    const outcomes = await Promise.all(
      Array.from({ length: 30 }, async (_, index) => {
        const asked = index % 2 === 0 ? store.head() : store.append("a", someEvents(1), 0)
        return asked.then(
          () => "answered",
          (error: Error) => error.name,
        )
      }),
    )
    expect(["Unavailable", "UnknownOutcome"]).toEqual(
      expect.arrayContaining([...new Set(outcomes)]),
    )
    await leader.relay.accept()
    expect((await appendUntilStored(store, "a", someEvents(1), 0)).revision).toBe(1)
  })

  it("is found when nobody was there at first", async () => {
    const cluster = await clusterOf(2)
    const { leader } = cluster
    await leader.relay.refuse()
    const url = `esdb+discover://127.0.0.1:${leader.port}?tls=false&discoveryInterval=1`
    const store = open(cluster, { url })
    const asked = store.append("a", someEvents(1), NO_STREAM)
    await expect(asked).rejects.toThrow("names a live leader")
    await leader.relay.accept()
    expect((await store.append("a", someEvents(1), NO_STREAM)).revision).toBe(0)
  })

  it("11: does not end the process when a search fails that nobody waits for", async () => {
    const cluster = await clusterOf(2)
    const [leader, seed] = cluster.nodes as [EventStoreDbServer, EventStoreDbServer]
    const url = `esdb+discover://127.0.0.1:${seed.port}?tls=false&discoveryInterval=20`
    const store = open(cluster, { url })
    const subscriber = subscribeRecording(store, {})
    await untilTrue(() => leader.subscribers === 1)
    const unhandled: unknown[] = []
    const onUnhandled = (reason: unknown): void => void unhandled.push(reason)
    process.on("unhandledRejection", onUnhandled)
    await seed.relay.refuse()
    leader.isReady = false
    await expect(store.head()).rejects.toThrow("Server Is Not Ready")
    // While the client searches for another node, the call breaks that is still on the first one.
    const searched = expect(store.head()).rejects.toThrow("names a live leader")
    leader.relay.cut()
    await searched
    await subscriber.until(() => subscriber.interruptions.length === 1)
    await nextTurn()
    process.off("unhandledRejection", onUnhandled)
    expect(unhandled).toEqual([])
  })
})

describe("EventStoreDB: an address that is a follower", () => {
  const follower = (cluster: EventStoreDbCluster): EventStore =>
    eventStoreDb.open(cluster.followers[0] as EventStoreDbServer)

  it.each([
    ["an append", (store: EventStore) => store.append("b", someEvents(2), NO_STREAM)],
    ["a read", (store: EventStore) => collectEvents(store.read("a"))],
    ["a read of all", (store: EventStore) => collectEvents(store.readAll())],
    ["the head", (store: EventStore) => store.head()],
    ["readiness", (store: EventStore) => store.ready()],
  ])("sends %s to the leader, the first one as well", async (_, ask) => {
    const cluster = await clusterOf(3)
    await open(cluster).append("a", someEvents(3), NO_STREAM)
    const answer = await ask(follower(cluster))
    expect(answer).toEqual(await ask(open(cluster)).catch(() => answer))
    expect(cluster.followers[0]?.counts.batchAppends).toBe(0)
  })

  it("knows that nothing was tried by a node that leads no longer", async () => {
    const cluster = await clusterOf(3)
    const store = open(cluster)
    await store.append("a", someEvents(1), NO_STREAM)
    cluster.elect(cluster.followers[0] as EventStoreDbServer)
    // It is sent over the line on which the former leader took the first one.
    expect((await store.append("a", someEvents(1), 0)).revision).toBe(1)
    expect(cluster.leader.log.stream("a")).toHaveLength(2)
  })

  it("does not know which of several a node still led for, and the same bytes again do", async () => {
    const cluster = await clusterOf(3)
    const store = open(cluster)
    await store.append("a", someEvents(1), NO_STREAM)
    const former = cluster.leader
    const appends = ["b", "c"].map((stream) => ({ stream, events: someEvents(1) }))
    // The first of the two is taken and never answered; then another one leads.
    former.faultOf = () => {
      cluster.elect(cluster.followers[0] as EventStoreDbServer)
      return "silent-stored"
    }
    const outcomes = await Promise.allSettled(
      appends.map(({ stream, events }) => store.append(stream, events, NO_STREAM)),
    )
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({ status: "rejected", reason: expect.any(UnknownOutcome) })
    }
    for (const { stream, events } of appends) {
      await appendUntilStored(store, stream, events, NO_STREAM)
      expect(eventIdsOf(await collectEvents(store.read(stream)))).toEqual(eventIdsOf(events))
    }
  })
})

describe("EventStoreDB: a node of the cluster that is frozen", () => {
  const QUICK = { appendTimeoutMs: 400, readTimeoutMs: 200, pollMs: 50 }

  it("does not keep the leader from being found, whichever is asked first", async () => {
    const cluster = await clusterOf(3)
    cluster.freeze(cluster.followers[0] as EventStoreDbServer)
    // Of ten clients, some begin their search at the frozen one: it has a second, and no more.
    const asked = Array.from({ length: 10 }, () => open(cluster).head())
    expect(await Promise.all(asked)).toHaveLength(10)
  })

  it("is given up as the leader, and callers go on with the next one, which nobody has to wait for", async () => {
    const cluster = await clusterOf(3)
    const store = open(cluster, QUICK)
    await appendUntilStored(store, "a", someEvents(1), NO_STREAM)
    const former = cluster.leader
    cluster.freeze(former)
    const event = someEvents(1)
    await expect(store.append("a", event, 0)).rejects.toThrow(UnknownOutcome)
    // The others still name the frozen one.
    await expect(surelyNot(() => store.head())).resolves.toBe("Unavailable")
    await expect(store.ready()).rejects.toThrow(Unavailable)
    cluster.elect(cluster.followers[0] as EventStoreDbServer)
    const begun = performance.now()
    await appendUntilStored(store, "a", event, 0)
    expect(performance.now() - begun).toBeLessThan(scaledMs(3_000))
    await expect(store.ready()).resolves.toBeUndefined()
    expect(eventIdsOf(await collectEvents(store.read("a", { from: 1 })))).toEqual(eventIdsOf(event))
  })

  it("is not where the search for the next leader begins", async () => {
    const cluster = await clusterOf(3)
    const former = cluster.leader
    // Long enough for a slow machine: whoever gives one up that answers looks for the next one anywhere.
    const patience = { appendTimeoutMs: scaledMs(1_000), readTimeoutMs: scaledMs(1_000) }
    const stores = Array.from({ length: 8 }, () => open(cluster, { ...QUICK, ...patience }))
    await Promise.all(stores.map((store) => retryWhileLost(() => store.head())))
    cluster.freeze(former)
    cluster.elect(cluster.followers[0] as EventStoreDbServer)
    const { accepted } = former.relay
    await Promise.all(stores.map((store) => retryWhileLost(() => store.head())))
    expect(former.relay.accepted).toBe(accepted)
  })

  it("is not believed when it thaws and does not know yet that another one leads", async () => {
    const cluster = await clusterOf(3)
    const store = open(cluster, QUICK)
    await appendUntilStored(store, "a", someEvents(1), NO_STREAM)
    const former = cluster.leader
    cluster.freeze(former)
    await expect(surelyNot(() => store.head())).resolves.toBe("Unavailable")
    cluster.elect(cluster.followers[0] as EventStoreDbServer)
    await appendUntilStored(store, "a", someEvents(1), 0)
    cluster.thaw(former)
    const { reads } = former.counts
    const newest = cluster.leader.log.records.at(-1)
    // Whoever asks the former one first is told that it leads, and what it answers is from before.
    while (former.counts.reads === reads) {
      cluster.leader.relay.cut()
      expect(await retryWhileLost(() => collectEvents(store.read("a")))).toHaveLength(2)
      expect(await retryWhileLost(() => store.head())).toMatchObject({ commit: newest?.commit })
    }
    cluster.rejoin(former)
    expect(former.log.stream("a")).toHaveLength(2)
  })
})

/** The name of the error that something ends in, once it does not end well by chance. */
async function surelyNot(ask: () => Promise<unknown>): Promise<string> {
  for (;;) {
    const outcome = await ask().then(
      () => null,
      (error: Error) => error.name,
    )
    if (outcome !== null) return outcome
  }
}
