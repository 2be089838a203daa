import { randomUUID } from "node:crypto"
import { EventStoreDBClient, type JSONType } from "@eventstore/db-client"
import fc from "fast-check"
import { afterAll, describe, expect, it } from "vitest"

import { openEventStoreDb } from "../../adapters/eventstore/eventstoredb/event-store.ts"
import { NO_STREAM, type Position, type ProposedEvent } from "../../adapters/eventstore/port.ts"
import type { Fact } from "../../domain/kernel/decider.ts"
import { causedBy, expectedHash, NO_HASH, wrap } from "../../src/frame/kernel/envelope.ts"
import { EVENT_FIELDS, STORED } from "../kernel/stored-formats.ts"
import { EventStoreDbServer } from "../support/eventstoredb-server.ts"
import { anEvent, collect, followed, idsOf, someEvents } from "./event-store-fixture.ts"

const server = await EventStoreDbServer.start()
const store = openEventStoreDb({ url: server.url })
const client = EventStoreDBClient.connectionString(server.url)
afterAll(async () => {
  await client.dispose()
  await store.close()
  await server.stop()
})

/** What the client's own reads make of a stream: they parse what is called JSON. */
async function parsed(stream: string): Promise<readonly (readonly string[])[]> {
  const events: string[][] = []
  for await (const { event } of client.readStream(stream)) {
    expect(event?.isJson).toBe(true)
    events.push([JSON.stringify(event?.data as JSONType), JSON.stringify(event?.metadata)])
  }
  return events
}

describe("17: what is stored in EventStoreDB", () => {
  it.for(STORED)(
    "$category: each type comes back to the byte, and from parsed JSON too",
    async ({ category, codec }) => {
      const facts = fc.tuple(
        ...codec.types.map((type) =>
          fc.array(
            fc
              .record(EVENT_FIELDS[category]?.[type] ?? {}, { noNullPrototype: true })
              .map((fields) => ({ type, ...fields }) as unknown as Fact),
            { minLength: 1, maxLength: 5 },
          ),
        ),
      )
      await fc.assert(
        fc.asyncProperty(facts, async (byType) => {
          const stream = `${category}-${randomUUID()}`
          let previousHash = NO_HASH
          const written = byType.flat().map((fact, revision) => {
            const place = { stream, revision, previousHash }
            const { proposed, hash } = wrap(codec, fact, place, causedBy("Ünï\u2028 cödé"))
            previousHash = hash
            return proposed
          })
          await store.append(stream, written, NO_STREAM)
          const stored = await collect(store.read(stream))
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

  it("is the same text, whatever it is", async () => {
    const text = fc.string({ unit: "binary" }).filter((one) => !one.includes("\0"))
    const texts = fc.oneof(text, fc.json(), fc.constantFrom("{", "{}", "[]", "null", "\ufeff{}"))
    const event = fc.record({ data: texts, metadata: texts }).map((one) => anEvent(one))
    await fc.assert(
      fc.asyncProperty(fc.array(event, { minLength: 1, maxLength: 20 }), async (events) => {
        const stream = `any-${randomUUID()}`
        await store.append(stream, events, NO_STREAM)
        expect(await collect(store.read(stream))).toMatchObject(events)
      }),
      { numRuns: 30 },
    )
  })

  it("is shown as JSON where it is like a fact, and as bytes where it is not", async () => {
    const stream = `shown-${randomUUID()}`
    await store.append(stream, [anEvent(), anEvent({ data: "no JSON" })], NO_STREAM)
    const contentTypes = server.log.stream(stream)?.map(({ contentType }) => contentType)
    expect(contentTypes).toEqual(["application/json", "application/octet-stream"])
  })
})

function hashOf(event: ProposedEvent | undefined): string {
  return (JSON.parse(event?.metadata ?? "{}") as { readonly hash: string }).hash
}

describe("14: where events stand in EventStoreDB", () => {
  /** Our events between those of others: the server's own, and those of a transaction. */
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

  it("gives all streams but the server's own, and the place of the newest of them", async () => {
    const before = await store.head()
    await mixed("mixed-")
    server.appendSystemEvents(40)
    const all = await collect(store.readAll({ after: before }))
    expect(all).toHaveLength(12 + 24 + 3)
    expect(all.filter(({ stream }) => stream.startsWith("$"))).toEqual([])
    expect(await store.head()).toEqual(all.at(-1)?.position)
    expect(await collect(store.readAll({ after: before, prefixes: ["$", "$stats"] }))).toEqual([])
  })

  it("goes on after the place of every event, with a prefix and without, and loses none", async () => {
    const before = await store.head()
    const written = await mixed("resumed-")
    const all = await collect(store.readAll({ after: before }))
    expect(all.some(({ position }) => position.commit !== position.prepare)).toBe(true)
    for (const [index, { position }] of all.entries()) {
      expect(await collect(store.readAll({ after: position }))).toEqual(all.slice(index + 1))
    }
    const places: readonly Position[] = [before, ...all.map(({ position }) => position)]
    for (const after of places.filter((_, index) => index % 5 === 0)) {
      const prefixes = ["resumed-"]
      const rest = await collect(store.readAll({ after, prefixes }))
      const follower = followed(store, { after, prefixes })
      await follower.until(() => follower.heads.length > 0)
      expect(follower.events).toEqual(rest)
      await follower.subscription.stop()
    }
    const own = await collect(store.readAll({ after: before, prefixes: ["resumed-"] }))
    expect(idsOf(own)).toEqual(idsOf(written))
  })

  it("tells those who follow of others' events, and not of the server's own", async () => {
    const follower = followed(store, { after: await store.head(), prefixes: ["nobody-"] })
    await follower.until(() => follower.heads.length > 0)
    const told = follower.heads.length
    server.appendSystemEvents(5)
    const { position } = await store.append(`x-${randomUUID()}`, someEvents(1), NO_STREAM)
    await follower.until(() => follower.heads.length > told)
    expect(follower.heads.slice(told)).toEqual([position])
    expect(follower.events).toEqual([])
    await follower.subscription.stop()
  })
})
