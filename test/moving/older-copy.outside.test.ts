/** An older copy in the place of the event store, after others have appended to it. */
import { expect, it, onTestFinished } from "vitest"
import { openEventStoreDb } from "../../adapters/eventstore/eventstoredb/event-store.ts"
import { NO_STREAM } from "../../adapters/eventstore/port.ts"
import { readConfig } from "../../src/compose/config.ts"
import { examine } from "../../src/compose/doctor.ts"
import { someEvents } from "../contracts/event-store-fixture.ts"
import { EventStoreDbServer } from "../support/eventstoredb-server.ts"
import { testDatabase } from "../support/postgres.ts"
import { makeCompany, openWorld } from "../support/world.ts"

it("refuses an older copy that others have appended to since, and so does doctor", async () => {
  const server = await EventStoreDbServer.start()
  onTestFinished(() => server.stop())
  const { url, drop } = await testDatabase()
  onTestFinished(drop)
  const world = await openWorld("store", { url, eventStoreUrl: server.url })
  const { companyId, key } = await makeCompany(world)
  // Room for four texts.
  const limit = { company: companyId, class: "general", period: "month", dollars: "0.045" }
  await world.operate("limit set", limit)
  const send = async () => {
    const text = { to: "+14155550123", body: "hello" }
    return (await world.call(key, "POST", "/api/v1/phone/messages", { body: text })).status
  }
  expect([await send(), await send()]).toEqual([200, 200])
  await world.operate("wait")
  const place = server.log.records.at(-1)?.commit ?? 0n
  expect([await send(), await send(), await send()]).toEqual([200, 200, 429])
  await world.operate("wait")
  await world.close()
  const end = server.log.records.at(-1)?.commit ?? 0n
  server.log.truncate(place)
  const stranger = openEventStoreDb({ url: server.url })
  onTestFinished(() => stranger.close())
  await stranger.append("orders-1", someEvents(200), NO_STREAM)
  expect(server.log.records.at(-1)?.commit).toBeGreaterThan(end)
  const env = { DATABASE_URL: url, LEDGER_EVENTSTORE_URL: server.url, PORT: "0" }
  const findings = await examine(readConfig(env), null)
  expect(findings.find(({ check }) => check === "event store")).toMatchObject({
    state: "wrong",
    says: expect.stringMatching(/has seen events that this event store does not hold/) as string,
  })
  await expect(openWorld("store", { url, eventStoreUrl: server.url })).rejects.toThrow(
    /The read model .* has seen events that this event store does not hold/,
  )
})
