import { randomUUID } from "node:crypto"
import { once } from "node:events"
import {
  ANY,
  EventStoreDBClient,
  jsonEvent,
  NO_STREAM,
  type Position,
  streamNameFilter,
} from "@eventstore/db-client"
import { afterEach, beforeEach, describe, expect, it } from "vitest"

import { EventStoreDbServer } from "../support/eventstoredb-server.ts"
import { until } from "./event-store-eventstoredb-fixture.ts"

let server: EventStoreDbServer
let client: EventStoreDBClient

beforeEach(async () => {
  await restart("24.2")
})

afterEach(async () => {
  await client.dispose()
  await server.stop()
})

async function restart(version: "23.10" | "24.2", options = ""): Promise<void> {
  server = await EventStoreDbServer.start({ version })
  client = EventStoreDBClient.connectionString(`${server.url}${options}`)
}

const events = (count: number) =>
  Array.from({ length: count }, () => jsonEvent({ type: "T", data: {}, id: randomUUID() }))

/** What the client throws. */
const failure = async (promise: Promise<unknown>): Promise<Record<string, unknown>> =>
  promise.then(
    (answer) => ({ answer }),
    (error: Error) => ({ ...error, name: error.constructor.name, message: error.message }),
  )

/** The test server is only worth something if the vendor's client sees in it what it saw in real ones. */
describe("the test server, as the client sees it, appending", () => {
  it("2: refuses a wrong revision without a message", async () => {
    await client.appendToStream("a", events(2))
    const wrong = { name: "WrongExpectedVersionError", type: "wrong-expected-version", message: "" }
    const expected = (revision: bigint | "no_stream") =>
      failure(client.appendToStream("a", events(1), { expectedRevision: revision }))
    expect(await expected(7n)).toMatchObject({ ...wrong, actualVersion: 1n })
    expect(await expected(NO_STREAM)).toMatchObject({ ...wrong, actualVersion: 1n })
    const missing = failure(client.appendToStream("b", events(1), { expectedRevision: 7n }))
    expect(await missing).toMatchObject({ ...wrong, actualVersion: "no_stream" })
  })

  it("3: takes the same events again, and not some of them with others", async () => {
    const [one, two] = [events(2), events(2)]
    const first = await client.appendToStream("a", one, { expectedRevision: NO_STREAM })
    const second = await client.appendToStream("a", two, { expectedRevision: 1n })
    for (const expectedRevision of [NO_STREAM, ANY] as const) {
      expect(await client.appendToStream("a", one, { expectedRevision })).toEqual(first)
    }
    expect(await client.appendToStream("a", two, { expectedRevision: 1n })).toEqual(second)
    const partly = failure(client.appendToStream("a", [...two, ...events(1)], {}))
    expect(await partly).toMatchObject({ name: "WrongExpectedVersionError" })
    const [event] = events(1)
    if (event === undefined) throw new Error("one event was made")
    expect(await client.appendToStream("b", [event, event])).toMatchObject({
      nextExpectedRevision: 1n,
    })
  })

  it("5: refuses an append over 1 MiB", async () => {
    const large = jsonEvent({ type: "T", data: "x".repeat(1024 * 1024) })
    expect(await failure(client.appendToStream("a", large))).toMatchObject({
      name: "MaxAppendSizeExceededError",
      maxAppendSize: 1024 * 1024,
    })
  })

  it("6: answers 1 as the next revision where a failure is not thrown", async () => {
    await client.dispose()
    await server.stop()
    await restart("24.2", "&throwOnAppendFailure=false")
    await client.appendToStream("a", events(5))
    const wrong = await client.appendToStream("a", events(1), { expectedRevision: 9n })
    expect(wrong).toEqual({ success: false, nextExpectedRevision: 1n, position: undefined })
  })

  it("7: has strange answers to strange questions", async () => {
    expect(await client.appendToStream("a", [])).toMatchObject({ nextExpectedRevision: 0n })
    expect(server.log.stream("a")).toBeUndefined()
    await client.appendToStream("a", events(1))
    const reading = async (stream: string, maxCount: number): Promise<number> => {
      let count = 0
      for await (const { event } of client.readStream(stream, { maxCount })) {
        count += event === undefined ? 0 : 1
      }
      return count
    }
    expect(await reading("a", 1)).toBe(1)
    expect(await failure(reading("a", 0))).toMatchObject({ name: "UnknownError" })
    expect(await failure(reading("", 1))).toMatchObject({ name: "UnknownError" })
    expect(await failure(reading("b", 1))).toMatchObject({ name: "StreamNotFoundError" })
  })

  it("9: is unavailable in three different ways", async () => {
    await client.appendToStream("a", events(1))
    server.isReady = false
    expect(await failure(client.appendToStream("a", events(1)))).toMatchObject({
      name: "UnknownError",
      message: "Could not recognize Server Is Not Ready",
    })
    server.isReady = true
    server.relay.freeze()
    const inFlight = failure(client.appendToStream("a", events(1)))
    await server.relay.refuse()
    expect(await inFlight).toMatchObject({ name: "UnavailableError", type: "unavailable" })
    await failure(client.appendToStream("a", events(1)))
    const later = await failure(client.appendToStream("a", events(1)))
    expect(later).toMatchObject({ name: "Error", code: 14 })
    expect(later["type"]).toBeUndefined()
  })
})

describe("the test server, as the client sees it, subscribed to", () => {
  it("12: says one error when it is lost, and neither that it ended nor that it closed", async () => {
    const subscription = client.subscribeToAll()
    const said: string[] = []
    for (const event of ["end", "close"]) subscription.on(event, () => said.push(event))
    const lost = once(subscription, "error")
    await once(subscription, "caughtUp")
    await server.relay.refuse()
    const error: unknown = await lost.catch((cause: unknown) => cause)
    expect(JSON.stringify(error)).toContain("unavailable")
    expect(said).toEqual([])
  })

  it("13: 23.10 drops who cannot take 500 events at once", async () => {
    await client.dispose()
    await server.stop()
    await restart("23.10")
    const subscription = client.subscribeToAll()
    const dropped = new Promise<Error>((resolve) => subscription.on("error", resolve))
    await once(subscription, "caughtUp")
    await client.appendToStream("a", events(500))
    expect(await failure(Promise.reject(await dropped))).toMatchObject({
      name: "TimeoutError",
      code: 10,
      message: expect.stringContaining("Consumer too slow") as string,
    })
  })

  it("13: 24.2 lets him read again, and says that he has caught up", async () => {
    const subscription = client.subscribeToAll({ filter: streamNameFilter({ prefixes: ["a"] }) })
    const said: string[] = []
    const seen: (string | undefined)[] = []
    for (const event of ["caughtUp", "fellBehind"] as const) {
      subscription.on(event, () => said.push(event))
    }
    subscription.on("data", ({ event }) => seen.push(event?.id))
    await until(() => said.length === 1)
    const appended = events(500)
    await client.appendToStream("a", appended)
    await until(() => said.length === 2)
    expect(seen).toEqual(appended.map(({ id }) => id))
    expect(said).toEqual(["caughtUp", "caughtUp"])
    await subscription.unsubscribe()
  })

  it("14: tells how far a filter has looked, some places with half of their name", async () => {
    const places: Position[] = []
    const filter = streamNameFilter({
      prefixes: ["b"],
      maxSearchWindow: 10,
      checkpointReached: (_, position) => void places.push(position),
    })
    const subscription = client.subscribeToAll({ filter })
    subscription.on("data", () => undefined)
    await client.appendToStream("a", events(30))
    await until(() => places.length >= 3)
    expect(places.some(({ prepare }) => prepare === 0n)).toBe(true)
    await subscription.unsubscribe()
  })
})
