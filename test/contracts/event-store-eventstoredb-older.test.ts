import { setImmediate as nextTurn } from "node:timers/promises"
import { describe, expect, it } from "vitest"

import { AccessDenied, NO_STREAM, OlderStore } from "../../adapters/eventstore/port.ts"
import { EventStoreDbUnderTest } from "./event-store-eventstoredb-fixture.ts"
import { collect, someEvents } from "./event-store-fixture.ts"

const eventStoreDb = new EventStoreDbUnderTest()

describe("EventStoreDB: an older copy", () => {
  it("that is put in the place of a server is noticed, and nothing is answered from it", async () => {
    const server = await eventStoreDb.start()
    const store = eventStoreDb.open(server)
    const { position } = await store.append("a", someEvents(2), NO_STREAM)
    await store.append("a", someEvents(3), 1)
    server.log.truncate(position.commit)
    server.relay.cut()
    for (const ask of [
      () => store.head(),
      () => collect(store.read("a")),
      () => store.append("a", someEvents(1), 1),
      () => store.ready(),
    ]) {
      await expect(firstSure(ask)).rejects.toThrow("older copy, or a node that is behind")
    }
    expect(server.log.stream("a")).toHaveLength(2)
    // Others go on with it, and it comes to be longer than ours was.
    await eventStoreDb.open(server).append("b", someEvents(20), NO_STREAM)
    server.appendSystemEvents(20)
    server.relay.cut()
    const other = "what was seen there: it is an older copy, or another store"
    await expect(firstSure(() => store.append("a", someEvents(1), 1))).rejects.toThrow(other)
    await expect(firstSure(() => store.ready())).rejects.toThrow(other)
    // A program that is started on it knows no better: what the database remembers tells it.
    expect(await collect(eventStoreDb.open(server).read("a"))).toHaveLength(2)
  })
})

describe("EventStoreDB: an older copy that others have appended to", () => {
  /** A process that has only read, when the server went back and others went on. */
  const replaced = async () => {
    const server = await eventStoreDb.start()
    const writer = eventStoreDb.open(server)
    const { position } = await writer.append("a", someEvents(2), NO_STREAM)
    await writer.append("a", someEvents(1), 1)
    const reader = eventStoreDb.open(server, { olderAfterMs: 20 })
    await collect(reader.read("a"))
    const before = [...server.log.records]
    server.log.truncate(position.commit)
    await eventStoreDb.open(server).append("orders", someEvents(9), NO_STREAM)
    server.relay.cut()
    return { server, reader, before }
  }
  const refusal = (ask: () => Promise<unknown>) => ask().catch((error: unknown) => error)

  it("is noticed by who has only read, and then refused without waiting for any answer", async () => {
    const { server, reader } = await replaced()
    await expect.poll(() => refusal(() => reader.head())).toBeInstanceOf(OlderStore)
    server.relay.freeze()
    for (const ask of [
      () => reader.head(),
      () => collect(reader.read("a")),
      () => reader.append("a", someEvents(1), 2),
      () => reader.ready(),
    ]) {
      await expect(ask()).rejects.toThrow(OlderStore)
    }
    expect(server.log.stream("a")).toHaveLength(2)
  })

  it("is forgotten when the right store is back", async () => {
    const { server, reader, before } = await replaced()
    await expect.poll(() => refusal(() => reader.head())).toBeInstanceOf(OlderStore)
    server.log.truncate(0n)
    server.log.replicate(before)
    server.relay.cut()
    await expect.poll(() => refusal(() => collect(reader.read("a")))).toHaveLength(3)
  })
})

describe("EventStoreDB: the mark of a stream that was deleted for good", () => {
  it("proves nothing, so that other streams are read after a lost connection", async () => {
    const server = await eventStoreDb.start()
    const store = eventStoreDb.open(server)
    await store.append("a", someEvents(2), NO_STREAM)
    await store.append("b", someEvents(1), NO_STREAM)
    server.log.deleteForGood("b")
    const newest = (await collect(store.readAll())).at(-1)
    expect(newest).toMatchObject({ stream: "b", type: "$streamDeleted" })
    server.relay.cut()
    expect(await firstSure(() => collect(store.read("a")))).toHaveLength(2)
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
    expect(await firstSure(() => collect(store.read("a")))).toHaveLength(2)
    await expect(firstSure(() => collect(store.read("b")))).rejects.toThrow(AccessDenied)
  })
})

/** Asks until the answer has nothing to do with a connection that broke meanwhile. */
async function firstSure(ask: () => Promise<unknown>): Promise<unknown> {
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      if (!/ECONN|connection|Connection dropped/.test(String(error))) throw error
      await nextTurn()
    }
  }
}
