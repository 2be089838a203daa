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

/** A cluster of nodes; the first one leads. */
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
  it("is asked for its leader, and again after the leader is lost", async () => {
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

  it("is unavailable for concurrent callers while no node answers, and recovers", async () => {
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
        const request = index % 2 === 0 ? store.head() : store.append("a", someEvents(1), 0)
        return request.then(
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

  it("is found after it was down at first", async () => {
    const cluster = await clusterOf(2)
    const { leader } = cluster
    await leader.relay.refuse()
    const url = `esdb+discover://127.0.0.1:${leader.port}?tls=false&discoveryInterval=1`
    const store = open(cluster, { url })
    const request = store.append("a", someEvents(1), NO_STREAM)
    await expect(request).rejects.toThrow("names a live leader")
    await leader.relay.accept()
    expect((await store.append("a", someEvents(1), NO_STREAM)).revision).toBe(0)
  })

  it("11: does not end the process when a discovery without a caller fails", async () => {
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
    // While the client discovers another node, the call on the first node breaks.
    const discovery = expect(store.head()).rejects.toThrow("names a live leader")
    leader.relay.cut()
    await discovery
    await subscriber.until(() => subscriber.interruptions.length === 1)
    await nextTurn()
    process.off("unhandledRejection", onUnhandled)
    expect(unhandled).toEqual([])
  })
})

describe("EventStoreDB: the address of a follower", () => {
  const follower = (cluster: EventStoreDbCluster): EventStore =>
    eventStoreDb.open(cluster.followers[0] as EventStoreDbServer)

  it.each([
    ["an append", (store: EventStore) => store.append("b", someEvents(2), NO_STREAM)],
    ["a read", (store: EventStore) => collectEvents(store.read("a"))],
    ["a read of all", (store: EventStore) => collectEvents(store.readAll())],
    ["the head", (store: EventStore) => store.head()],
    ["readiness", (store: EventStore) => store.ready()],
  ])("sends %s to the leader, even the first request", async (_, ask) => {
    const cluster = await clusterOf(3)
    await open(cluster).append("a", someEvents(3), NO_STREAM)
    const answer = await ask(follower(cluster))
    expect(answer).toEqual(await ask(open(cluster)).catch(() => answer))
    expect(cluster.followers[0]?.counts.batchAppends).toBe(0)
  })

  it("retries an append that a former leader rejects", async () => {
    const cluster = await clusterOf(3)
    const store = open(cluster)
    await store.append("a", someEvents(1), NO_STREAM)
    cluster.elect(cluster.followers[0] as EventStoreDbServer)
    // The append is sent over the connection to the former leader.
    expect((await store.append("a", someEvents(1), 0)).revision).toBe(1)
    expect(cluster.leader.log.stream("a")).toHaveLength(2)
  })

  it("has unknown outcomes for appends during an election, and a retry with the same bytes resolves them", async () => {
    const cluster = await clusterOf(3)
    const store = open(cluster)
    await store.append("a", someEvents(1), NO_STREAM)
    const former = cluster.leader
    const appends = ["b", "c"].map((stream) => ({ stream, events: someEvents(1) }))
    // The first append is stored without an answer; then another node becomes the leader.
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

describe("EventStoreDB: a frozen node of a cluster", () => {
  const QUICK = { appendTimeoutMs: 400, readTimeoutMs: 200, pollMs: 50 }

  it("does not prevent the discovery of the leader, even if it is asked first", async () => {
    const cluster = await clusterOf(3)
    cluster.freeze(cluster.followers[0] as EventStoreDbServer)
    // Some of ten clients ask the frozen node first, which has one second to answer.
    const request = Array.from({ length: 10 }, () => open(cluster).head())
    expect(await Promise.all(request)).toHaveLength(10)
  })

  it("is abandoned as the leader, and callers use the next leader without a delay", async () => {
    const cluster = await clusterOf(3)
    const store = open(cluster, QUICK)
    await appendUntilStored(store, "a", someEvents(1), NO_STREAM)
    const former = cluster.leader
    cluster.freeze(former)
    const event = someEvents(1)
    await expect(store.append("a", event, 0)).rejects.toThrow(UnknownOutcome)
    // The other nodes still name the frozen leader.
    await expect(firstErrorName(() => store.head())).resolves.toBe("Unavailable")
    await expect(store.ready()).rejects.toThrow(Unavailable)
    cluster.elect(cluster.followers[0] as EventStoreDbServer)
    const begun = performance.now()
    await appendUntilStored(store, "a", event, 0)
    expect(performance.now() - begun).toBeLessThan(scaledMs(3_000))
    await expect(store.ready()).resolves.toBeUndefined()
    expect(eventIdsOf(await collectEvents(store.read("a", { from: 1 })))).toEqual(eventIdsOf(event))
  })

  it("is not asked first for the next leader", async () => {
    const cluster = await clusterOf(3)
    const former = cluster.leader
    // Long enough for a slow machine: a client that abandons a live node may ask any node next.
    const timeouts = { appendTimeoutMs: scaledMs(1_000), readTimeoutMs: scaledMs(1_000) }
    const stores = Array.from({ length: 8 }, () => open(cluster, { ...QUICK, ...timeouts }))
    await Promise.all(stores.map((store) => retryWhileLost(() => store.head())))
    cluster.freeze(former)
    cluster.elect(cluster.followers[0] as EventStoreDbServer)
    const { accepted } = former.relay
    await Promise.all(stores.map((store) => retryWhileLost(() => store.head())))
    expect(former.relay.accepted).toBe(accepted)
  })

  it("is not trusted when it thaws and still believes that it leads", async () => {
    const cluster = await clusterOf(3)
    const store = open(cluster, QUICK)
    await appendUntilStored(store, "a", someEvents(1), NO_STREAM)
    const former = cluster.leader
    cluster.freeze(former)
    await expect(firstErrorName(() => store.head())).resolves.toBe("Unavailable")
    cluster.elect(cluster.followers[0] as EventStoreDbServer)
    await appendUntilStored(store, "a", someEvents(1), 0)
    cluster.thaw(former)
    const { reads } = former.counts
    const newest = cluster.leader.log.records.at(-1)
    // A client that asks the former leader first gets its outdated answer.
    while (former.counts.reads === reads) {
      cluster.leader.relay.cut()
      expect(await retryWhileLost(() => collectEvents(store.read("a")))).toHaveLength(2)
      expect(await retryWhileLost(() => store.head())).toMatchObject({ commit: newest?.commit })
    }
    cluster.rejoin(former)
    expect(former.log.stream("a")).toHaveLength(2)
  })
})

/** Repeats a request until it fails. @returns the error's name */
async function firstErrorName(ask: () => Promise<unknown>): Promise<string> {
  for (;;) {
    const outcome = await ask().then(
      () => null,
      (error: Error) => error.name,
    )
    if (outcome !== null) return outcome
  }
}
