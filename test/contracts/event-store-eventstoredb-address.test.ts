import { randomUUID } from "node:crypto"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setImmediate as nextTurn } from "node:timers/promises"
import { EventStoreDBClient } from "@eventstore/db-client"
import fc from "fast-check"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { openEventStoreDb } from "../../adapters/eventstore/eventstoredb/event-store.ts"
import { AccessDenied, NO_STREAM, Unavailable, StaleStore } from "../../adapters/eventstore/port.ts"
import type { Position, ProposedEvent } from "../../adapters/eventstore/port.ts"
import { causedBy, expectedHash, NO_HASH, wrapFact } from "../../src/frame/kernel/envelope.ts"
import { EVENT_FIELD_ARBITRARIES, STORED_CATEGORIES } from "../kernel/stored-formats.ts"
import { EventStoreDbServer } from "../support/eventstoredb-server.ts"
import { EventStoreDbUnderTest } from "./event-store-eventstoredb-fixture.ts"
import {
  collectEvents,
  subscribeRecording,
  someEvents,
  anEvent,
  eventIdsOf,
} from "./event-store-fixture.ts"
import { testOnlyFact } from "../support/partial-fake.ts"

const eventStoreDb = new EventStoreDbUnderTest()

describe("EventStoreDB: the connection string", () => {
  let folder = ""
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "eventstoredb-"))
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  const credentials = { username: "ledger", password: "pass:w?rd/&" }

  /** The connection string of a TLS server, with its certificate authority. */
  function urlWithAuthority(server: EventStoreDbServer): string {
    const file = join(folder, `${server.port}.pem`)
    writeFileSync(file, server.certificate)
    return `${server.url}&tlsCAFile=${encodeURIComponent(file)}`
  }

  it("1: has the credentials and the authority, and appends use the batch call", async () => {
    const server = await eventStoreDb.start({ tls: true, credentials })
    const url = urlWithAuthority(server)
    const store = eventStoreDb.open(server, { url })
    await store.append("a", someEvents(2), NO_STREAM)
    const follower = subscribeRecording(store, {})
    await follower.until(() => follower.events.length === 2)
    expect(await collectEvents(store.read("a"))).toHaveLength(2)
    expect(server.counts.batchAppends).toBe(1)
  })

  it("fails with wrong credentials: nothing is stored, and subscribers get the error", async () => {
    const server = await eventStoreDb.start({ tls: true, credentials })
    const store = eventStoreDb.open(server, {
      url: urlWithAuthority(server).replace("ledger:", "else:"),
    })
    await expect(store.append("a", someEvents(1), NO_STREAM)).rejects.toThrow(AccessDenied)
    await expect(collectEvents(store.read("a"))).rejects.toThrow(AccessDenied)
    await expect(store.head()).rejects.toThrow("rejected the credentials")
    const follower = subscribeRecording(store, {})
    await follower.until(() => follower.interruptions.length > 0)
    expect(follower.interruptions[0]).toBeInstanceOf(AccessDenied)
    expect(server.log.stream("a")).toBeUndefined()
  })

  it("rejects a server whose certificate its authority did not sign", async () => {
    const [server, other] = [
      await eventStoreDb.start({ tls: true }),
      await eventStoreDb.start({ tls: true }),
    ]
    const url = urlWithAuthority(other).replace(String(other.port), String(server.port))
    const store = eventStoreDb.open(server, { url })
    await expect(store.append("a", someEvents(1), NO_STREAM)).rejects.toThrow(Unavailable)
    await expect(store.head()).rejects.toThrow(/certificate/)
    expect(server.counts.batchAppends).toBe(0)
  })

  it.each([
    ["postgres://h/db", /invalid: expected esdb:\/\/ or esdb\+discover:\/\//],
    ["esdb://u:secret@h:port?tls=false", /expected a port number/],
    ["esdb://u:secret@h:2113?tls=no", /expected true or false for tls/],
    [
      "esdb://u:secret@h:2113?keep-alive-timeout=soon",
      /expected a whole number for keepAliveTimeout/,
    ],
    ["esdb://u:secret%2@h:2113", /hexadecimal digits/],
    ["esdb://u:secret@h:2113?tsl=false", /unknown option: tsl/],
    ["esdb://u:secret@h:2113?tlsVerifyCert=false", /always verified/],
    [
      "esdb://u:secret@h:2113?tlsCAFile=gone.pem",
      /cannot be read \(gone.pem: ENOENT\) for tlsCAFile/,
    ],
    ["esdb+discover://u:secret@a:1,b:2,c:3?tls=false", /Use esdb:\/\/a:1,b:2,c:3 for a list/],
    [
      "esdb+discover://u:secret@a,b",
      /Use esdb:\/\/a,b for a list .* or esdb\+discover:\/\/ with the/,
    ],
  ])("is rejected with the reason, without the password: %s", (url, words) => {
    const opening = (): unknown => openEventStoreDb({ url })
    expect(opening).toThrow(RangeError)
    expect(opening).toThrow(words)
    expect(opening).not.toThrow(/secret/)
  })
})

describe("EventStoreDB: an older copy", () => {
  it("that replaces a server is detected, and nothing is answered from it", async () => {
    const server = await eventStoreDb.start()
    const store = eventStoreDb.open(server)
    const { position } = await store.append("a", someEvents(2), NO_STREAM)
    await store.append("a", someEvents(3), 1)
    server.log.truncate(position.commit)
    server.relay.cut()
    for (const ask of [
      () => store.head(),
      () => collectEvents(store.read("a")),
      () => store.append("a", someEvents(1), 1),
      () => store.ready(),
    ]) {
      await expect(retryBrokenConnection(ask)).rejects.toThrow(
        "older copy, or a node that is behind",
      )
    }
    expect(server.log.stream("a")).toHaveLength(2)
    // Other programs append to the copy until it is longer than the original.
    await eventStoreDb.open(server).append("b", someEvents(20), NO_STREAM)
    server.appendSystemEvents(20)
    server.relay.cut()
    const other = "lost the event that was seen at"
    await expect(retryBrokenConnection(() => store.append("a", someEvents(1), 1))).rejects.toThrow(
      other,
    )
    await expect(retryBrokenConnection(() => store.ready())).rejects.toThrow(other)
    // A new process cannot detect the copy by itself; it compares it with the read models' positions.
    expect(await collectEvents(eventStoreDb.open(server).read("a"))).toHaveLength(2)
  })
})

describe("EventStoreDB: an older copy that others have appended to", () => {
  /** A process that has only read, on a server that was replaced by an older copy with other events. */
  const replaced = async () => {
    const server = await eventStoreDb.start()
    const writer = eventStoreDb.open(server)
    const { position } = await writer.append("a", someEvents(2), NO_STREAM)
    await writer.append("a", someEvents(1), 1)
    const reader = eventStoreDb.open(server, { staleAfterMs: 20 })
    await collectEvents(reader.read("a"))
    const before = [...server.log.records]
    server.log.truncate(position.commit)
    await eventStoreDb.open(server).append("orders", someEvents(9), NO_STREAM)
    server.relay.cut()
    return { server, reader, before }
  }
  const refusal = (ask: () => Promise<unknown>) => ask().catch((error: unknown) => error)

  it("is detected by a process that has only read, and then rejected without a request", async () => {
    const { server, reader } = await replaced()
    await expect.poll(() => refusal(() => reader.head())).toBeInstanceOf(StaleStore)
    server.relay.freeze()
    for (const ask of [
      () => reader.head(),
      () => collectEvents(reader.read("a")),
      () => reader.append("a", someEvents(1), 2),
      () => reader.ready(),
    ]) {
      await expect(ask()).rejects.toThrow(StaleStore)
    }
    expect(server.log.stream("a")).toHaveLength(2)
  })

  it("no longer matters once the right store is back", async () => {
    const { server, reader, before } = await replaced()
    await expect.poll(() => refusal(() => reader.head())).toBeInstanceOf(StaleStore)
    server.log.truncate(0n)
    server.log.replicate(before)
    server.relay.cut()
    await expect.poll(() => refusal(() => collectEvents(reader.read("a")))).toHaveLength(3)
  })
})

describe("EventStoreDB: the tombstone of a permanently deleted stream", () => {
  it("proves nothing, so that other streams are read after a lost connection", async () => {
    const server = await eventStoreDb.start()
    const store = eventStoreDb.open(server)
    await store.append("a", someEvents(2), NO_STREAM)
    await store.append("b", someEvents(1), NO_STREAM)
    server.log.deleteForGood("b")
    const newest = (await collectEvents(store.readAll())).at(-1)
    expect(newest).toMatchObject({ stream: "b", type: "$streamDeleted" })
    server.relay.cut()
    expect(await retryBrokenConnection(() => collectEvents(store.read("a")))).toHaveLength(2)
  })
})

describe("EventStoreDB: a stream that our user may not read", () => {
  it("proves nothing, so that other streams are read after a lost connection", async () => {
    const server = await eventStoreDb.start()
    const store = eventStoreDb.open(server)
    await store.append("a", someEvents(2), NO_STREAM)
    await store.append("b", someEvents(1), NO_STREAM)
    server.denied.add("b")
    server.relay.cut()
    expect(await retryBrokenConnection(() => collectEvents(store.read("a")))).toHaveLength(2)
    await expect(retryBrokenConnection(() => collectEvents(store.read("b")))).rejects.toThrow(
      AccessDenied,
    )
  })
})

async function retryBrokenConnection(ask: () => Promise<unknown>): Promise<unknown> {
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      if (!/ECONN|connection|Connection dropped/.test(String(error))) throw error
      await nextTurn()
    }
  }
}

const server = await EventStoreDbServer.start()
const store = openEventStoreDb({ url: server.url })
const client = EventStoreDBClient.connectionString(server.url)
afterAll(async () => {
  await client.dispose()
  await store.close()
  await server.stop()
})

async function parsed(stream: string): Promise<readonly (readonly string[])[]> {
  const events: string[][] = []
  for await (const { event } of client.readStream(stream)) {
    expect(event?.isJson).toBe(true)
    events.push([JSON.stringify(event?.data), JSON.stringify(event?.metadata)])
  }
  return events
}

describe("17: events stored in EventStoreDB", () => {
  it.for(STORED_CATEGORIES)(
    "$category: are read byte for byte, even from parsed JSON",
    async ({ category, codec }) => {
      const facts = fc.tuple(
        ...codec.types.map((type) =>
          fc.array(
            fc
              .record(EVENT_FIELD_ARBITRARIES[category]?.[type] ?? {}, { noNullPrototype: true })
              .map((fields) => testOnlyFact({ type, ...fields })),
            { minLength: 1, maxLength: 5 },
          ),
        ),
      )
      await fc.assert(
        fc.asyncProperty(facts, async (byType) => {
          const stream = `${category}-${randomUUID()}`
          let previousHash = NO_HASH
          const written = byType.flat().map((fact, revision) => {
            const location = { stream, revision, previousHash }
            const { proposed, hash } = wrapFact(codec, fact, location, causedBy("Ünï\u2028 cödé"))
            previousHash = hash
            return proposed
          })
          await store.append(stream, written, NO_STREAM)
          const stored = await collectEvents(store.read(stream))
          expect(stored).toMatchObject(written)
          const last = stored.at(-1)
          const before = stored.length > 1 ? hashOf(stored.at(-2)) : NO_HASH
          expect(last === undefined ? "" : expectedHash(last, before)).toBe(previousHash)
          expect(await parsed(stream)).toEqual(written.map((one) => [one.data, one.metadata]))
        }),
        { numRuns: 3 },
      )
    },
  )

  it("keep any text", async () => {
    const text = fc.string({ unit: "binary" }).filter((one) => !one.includes("\0"))
    const texts = fc.oneof(text, fc.json(), fc.constantFrom("{", "{}", "[]", "null", "\ufeff{}"))
    const event = fc.record({ data: texts, metadata: texts }).map((one) => anEvent(one))
    await fc.assert(
      fc.asyncProperty(fc.array(event, { minLength: 1, maxLength: 20 }), async (events) => {
        const stream = `any-${randomUUID()}`
        await store.append(stream, events, NO_STREAM)
        expect(await collectEvents(store.read(stream))).toMatchObject(events)
      }),
      { numRuns: 30 },
    )
  })

  it("have the content type of JSON or of bytes, depending on their data", async () => {
    const stream = `shown-${randomUUID()}`
    await store.append(stream, [anEvent(), anEvent({ data: "no JSON" })], NO_STREAM)
    const contentTypes = server.log.stream(stream)?.map(({ contentType }) => contentType)
    expect(contentTypes).toEqual(["application/json", "application/octet-stream"])
  })
})

function hashOf(event: ProposedEvent | undefined): string {
  return (JSON.parse(event?.metadata ?? "{}") as { readonly hash: string }).hash
}

describe("14: positions in EventStoreDB", () => {
  /** Appends our events between events of the server and of a transaction. */
  async function mixed(prefix: string): Promise<readonly ProposedEvent[]> {
    const written = someEvents(12)
    for (const [index, event] of written.entries()) {
      const own = `${prefix}${index % 3}`
      await store.append(own, [event], Math.floor(index / 3) - 1)
      server.appendSystemEvents(3)
      await store.append(`other-${prefix}${index}`, someEvents(2), NO_STREAM)
      if (index % 4 === 0) server.log.appendInTransaction(`old-${prefix}`, [legacyEvent()])
    }
    return written
  }

  const legacyEvent = () => ({
    id: randomUUID(),
    type: "Legacy",
    contentType: "application/octet-stream",
    data: Buffer.from("?"),
    metadata: Buffer.alloc(0),
  })

  it("exclude the server's system streams, even for the head", async () => {
    const before = await store.head()
    await mixed("mixed-")
    server.appendSystemEvents(40)
    const all = await collectEvents(store.readAll({ after: before }))
    expect(all).toHaveLength(12 + 24 + 3)
    expect(all.filter(({ stream }) => stream.startsWith("$"))).toEqual([])
    expect(await store.head()).toEqual(all.at(-1)?.position)
    expect(
      await collectEvents(store.readAll({ after: before, prefixes: ["$", "$stats"] })),
    ).toEqual([])
  })

  it("allow reads after every event, with and without a prefix", async () => {
    const before = await store.head()
    const written = await mixed("resumed-")
    const all = await collectEvents(store.readAll({ after: before }))
    expect(all.some(({ position }) => position.commit !== position.prepare)).toBe(true)
    for (const [index, { position }] of all.entries()) {
      expect(await collectEvents(store.readAll({ after: position }))).toEqual(all.slice(index + 1))
    }
    const positions: readonly Position[] = [before, ...all.map(({ position }) => position)]
    for (const after of positions.filter((_, index) => index % 5 === 0)) {
      const prefixes = ["resumed-"]
      const rest = await collectEvents(store.readAll({ after, prefixes }))
      const follower = subscribeRecording(store, { after, prefixes })
      await follower.until(() => follower.heads.length > 0)
      expect(follower.events).toEqual(rest)
      await follower.subscription.stop()
    }
    const own = await collectEvents(store.readAll({ after: before, prefixes: ["resumed-"] }))
    expect(eventIdsOf(own)).toEqual(eventIdsOf(written))
  })

  it("advance a subscriber's head for events of others, but not for system events", async () => {
    const follower = subscribeRecording(store, { after: await store.head(), prefixes: ["none-"] })
    await follower.until(() => follower.heads.length > 0)
    const before = follower.heads.length
    server.appendSystemEvents(5)
    const { position } = await store.append(`x-${randomUUID()}`, someEvents(1), NO_STREAM)
    await follower.until(() => follower.heads.length > before)
    expect(follower.heads.slice(before)).toEqual([position])
    expect(follower.events).toEqual([])
    await follower.subscription.stop()
  })
})
