import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { EventStoreDBClient, jsonEvent } from "@eventstore/db-client"
import { afterAll, beforeAll, describe, expect, it } from "vitest"

import { openEventStoreDb } from "../../adapters/eventstore/eventstoredb/event-store.ts"
import { AccessDenied, NO_STREAM, Unavailable } from "../../adapters/eventstore/port.ts"
import type { EventStoreDbServer } from "../support/eventstoredb-server.ts"
import { EventStoreDbUnderTest } from "./event-store-eventstoredb-fixture.ts"
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
    ["esdb+discover://u:secret@a:1,b:2,c:3?tls=false", /write esdb:\/\/a:1,b:2,c:3 for a list/],
    [
      "esdb+discover://u:secret@a,b",
      /write esdb:\/\/a,b for a list .* or esdb\+discover:\/\/ with the/,
    ],
  ])("says what is wrong with %s, and not the password", (url, words) => {
    const opening = (): unknown => openEventStoreDb({ url })
    expect(opening).toThrow(RangeError)
    expect(opening).toThrow(words)
    expect(opening).not.toThrow(/secret/)
  })
})
