import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setImmediate as nextTurn } from "node:timers/promises"
import { EventStoreDBClient, jsonEvent } from "@eventstore/db-client"
import { afterAll, beforeAll, describe, expect, it } from "vitest"

import { openEventStoreDb } from "../../adapters/eventstore/eventstoredb/event-store.ts"
import { AccessDenied, NO_STREAM, Unavailable } from "../../adapters/eventstore/port.ts"
import type { EventStoreDbServer } from "../support/eventstoredb-server.ts"
import { appendSurely, EventStoreDbUnderTest, until } from "./event-store-eventstoredb-fixture.ts"
import { collect, followed, someEvents } from "./event-store-fixture.ts"

const eventStoreDb = new EventStoreDbUnderTest()

describe("EventStoreDB: the connection string", () => {
  let folder = ""
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "eventstoredb-"))
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  const credentials = { username: "ledger", password: "pass:w?rd/&" }

  /** The connection string of an encrypted server, with the authority that vouches for it. */
  function trusting(server: EventStoreDbServer): string {
    const file = join(folder, `${server.port}.pem`)
    writeFileSync(file, server.certificate)
    return `${server.url}&tlsCAFile=${encodeURIComponent(file)}`
  }

  it("1: carries the credentials and the authority, and appends go the fast way", async () => {
    const server = await eventStoreDb.start({ tls: true, credentials })
    const url = trusting(server)
    const store = eventStoreDb.open(server, { url })
    await store.append("a", someEvents(2), NO_STREAM)
    const follower = followed(store, {})
    await follower.until(() => follower.events.length === 2)
    expect(await collect(store.read("a"))).toHaveLength(2)
    expect(server.counts).toMatchObject({ batchAppends: 1, appends: 0 })

    // The client's own way with credentials for a single call is a call for each append.
    const client = EventStoreDBClient.connectionString(url)
    await client.appendToStream("b", jsonEvent({ type: "T", data: {} }), {
      credentials,
      expectedRevision: "no_stream",
    })
    await client.dispose()
    expect(server.counts).toMatchObject({ batchAppends: 1, appends: 1 })
  })

  it("lets nobody in with other credentials: nothing is stored, and who follows is told", async () => {
    const server = await eventStoreDb.start({ tls: true, credentials })
    const store = eventStoreDb.open(server, { url: trusting(server).replace("ledger:", "else:") })
    await expect(store.append("a", someEvents(1), NO_STREAM)).rejects.toThrow(AccessDenied)
    await expect(collect(store.read("a"))).rejects.toThrow(AccessDenied)
    await expect(store.head()).rejects.toThrow("refuses these credentials")
    const follower = followed(store, {})
    await follower.until(() => follower.interruptions.length > 0)
    expect(follower.interruptions[0]).toBeInstanceOf(AccessDenied)
    expect(server.log.stream("a")).toBeUndefined()
  })

  it("trusts no server that its authority does not vouch for", async () => {
    const [server, other] = [
      await eventStoreDb.start({ tls: true }),
      await eventStoreDb.start({ tls: true }),
    ]
    const url = trusting(other).replace(String(other.port), String(server.port))
    const store = eventStoreDb.open(server, { url })
    await expect(store.append("a", someEvents(1), NO_STREAM)).rejects.toThrow(Unavailable)
    await expect(store.head()).rejects.toThrow(/certificate/)
    expect(server.counts.batchAppends).toBe(0)
  })

  it.each([
    ["postgres://h/db", /wrong: at position 0, expected esdb:\/\/ or esdb\+discover:\/\//],
    ["esdb://u:secret@h:port?tls=false", /expected port number/],
    ["esdb://u:secret@h:2113?tls=no", /expected true or false/],
    ["esdb://u:secret@h:2113?tsl=false", /unknown option: tsl/],
    ["esdb://u:secret@h:2113?tlsVerifyCert=false", /always verified/],
    ["esdb://u:secret@h:2113?tlsCAFile=gone.pem", /cannot be read \(tlsCAFile=gone.pem\)/],
  ])("says what is wrong with %s, and not the password", (url, words) => {
    const opening = (): unknown => openEventStoreDb({ url })
    expect(opening).toThrow(RangeError)
    expect(opening).toThrow(words)
    expect(opening).not.toThrow(/secret/)
  })
})

describe("EventStoreDB: a cluster", () => {
  /** A cluster of two, of which the first leads. */
  async function cluster(): Promise<readonly [EventStoreDbServer, EventStoreDbServer]> {
    const nodes = [await eventStoreDb.start(), await eventStoreDb.start()] as const
    lead(nodes[0], nodes[1])
    return nodes
  }

  function lead(leader: EventStoreDbServer, follower: EventStoreDbServer): void {
    leader.leaderPort = null
    follower.leaderPort = leader.port
    for (const node of [leader, follower]) {
      node.nodes = [
        { port: leader.port, isLeader: true },
        { port: follower.port, isLeader: false },
      ]
    }
  }

  it("is asked who leads it, and again when the leader is lost", async () => {
    const [first, second] = await cluster()
    const url = `esdb+discover://127.0.0.1:${second.port}?tls=false&discoveryInterval=10`
    const store = eventStoreDb.open(second, { url })
    await store.append("a", someEvents(1), NO_STREAM)
    expect(first.log.stream("a")).toHaveLength(1)
    lead(second, first)
    await first.relay.refuse()
    await appendSurely(store, "b", someEvents(1), NO_STREAM)
    expect(second.log.stream("b")).toHaveLength(1)
  })

  it("sends who asks a follower to the leader", async () => {
    const [leader, follower] = await cluster()
    const store = eventStoreDb.open(follower)
    const events = someEvents(1)
    await appendSurely(store, "a", events, NO_STREAM)
    expect(leader.log.stream("a")).toHaveLength(1)
    expect(follower.log.stream("a")).toBeUndefined()
    expect(await collect(store.read("a"))).toHaveLength(1)
  })

  it("tries the nodes that the connection string names", async () => {
    const [leader, follower] = await cluster()
    await follower.relay.refuse()
    const hosts = [follower, leader].map(({ port }) => `127.0.0.1:${port}`).join()
    const store = eventStoreDb.open(leader, { url: `esdb://${hosts}?tls=false` })
    await store.append("a", someEvents(1), NO_STREAM)
    expect(leader.log.stream("a")).toHaveLength(1)
  })

  it("is unavailable for all at once when no node answers, and then not any more", async () => {
    const [leader, follower] = await cluster()
    const url = `esdb+discover://127.0.0.1:${leader.port}?tls=false&discoveryInterval=1`
    const store = eventStoreDb.open(leader, { url })
    await store.append("a", someEvents(1), NO_STREAM)
    const subscriber = followed(store, {})
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
    expect((await appendSurely(store, "a", someEvents(1), 0)).revision).toBe(1)
  })

  it("is found when nobody was there at first", async () => {
    const [leader] = await cluster()
    await leader.relay.refuse()
    const url = `esdb+discover://127.0.0.1:${leader.port}?tls=false&discoveryInterval=1`
    const store = eventStoreDb.open(leader, { url })
    const asked = store.append("a", someEvents(1), NO_STREAM)
    await expect(asked).rejects.toThrow("Failed to discover")
    await leader.relay.accept()
    expect((await store.append("a", someEvents(1), NO_STREAM)).revision).toBe(0)
  })

  it("11: does not end the process when a search fails that nobody waits for", async () => {
    const [leader, seed] = await cluster()
    const url = `esdb+discover://127.0.0.1:${seed.port}?tls=false&discoveryInterval=20`
    const store = eventStoreDb.open(seed, { url })
    const subscriber = followed(store, {})
    await until(() => leader.subscribers === 1)
    const unhandled: unknown[] = []
    const onUnhandled = (reason: unknown): void => void unhandled.push(reason)
    process.on("unhandledRejection", onUnhandled)
    await seed.relay.refuse()
    leader.isReady = false
    await expect(store.head()).rejects.toThrow("Server Is Not Ready")
    // While the client searches for another node, the call breaks that is still on the first one.
    const searched = expect(store.head()).rejects.toThrow("Failed to discover")
    leader.relay.cut()
    await searched
    await subscriber.until(() => subscriber.interruptions.length === 1)
    await nextTurn()
    process.off("unhandledRejection", onUnhandled)
    expect(unhandled).toEqual([])
  })
})
