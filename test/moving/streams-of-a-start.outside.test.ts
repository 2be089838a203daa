/** Streams that no company owns, and that the server was told to cut short: what a start and `doctor` say. */
import { getActiveResourcesInfo } from "node:process"
import { afterEach, beforeEach, expect, it } from "vitest"
import { readConfig } from "../../src/compose/config.ts"
import { examine } from "../../src/compose/doctor.ts"
import { explainOpening } from "../../src/compose/opening-faults.ts"
import { EventStoreDbServer } from "../support/eventstoredb-server.ts"
import { testDatabase } from "../support/postgres.ts"
import { makeCompany, openWorld } from "../support/world.ts"

let server: EventStoreDbServer
let url: string
let drop: () => Promise<void>
beforeEach(async () => {
  server = await EventStoreDbServer.start()
  ;({ url, drop } = await testDatabase())
  const world = await openWorld("store", { url, eventStoreUrl: server.url })
  await makeCompany(world)
  await makeCompany(world)
  await world.operate("price set", { item: "text_segment", dollars: "0.02" })
  await world.close()
})
afterEach(async () => {
  await server.stop()
  await drop()
})

/** What `doctor` says of the streams, and of the event store. */
async function doctor() {
  const env = { DATABASE_URL: url, LEDGER_EVENTSTORE_URL: server.url, PORT: "0" }
  const findings = await examine(readConfig(env), null)
  return (check: string) => findings.find((one) => one.check === check)
}

const timers = (): number => getActiveResourcesInfo().filter((kind) => kind === "Timeout").length

it("refuses a cut price book at once, and leaves nothing running that would keep the process", async () => {
  expect((await doctor())("streams")).toMatchObject({ state: "ok" })
  const before = timers()
  server.log.set("prices", { $maxCount: 1 })
  const refused: unknown = await openWorld("store", { url, eventStoreUrl: server.url }).catch(
    (error: unknown) => error,
  )
  expect(refused).toMatchObject({ name: "DamagedStream" })
  expect(String(explainOpening(refused, { eventStoreUrl: server.url }))).toMatch(
    /prices revision 1: .*store repair-settings prices/,
  )
  expect(timers()).toBeLessThanOrEqual(before)
})

it("has doctor name each cut stream that no company owns", async () => {
  server.log.set("prices", { $maxCount: 1 })
  server.log.set("companies", { $tb: 1 })
  const found = await doctor()
  expect(found("event store")).toMatchObject({ state: "ok" })
  expect(found("streams")).toMatchObject({
    state: "wrong",
    says: expect.stringMatching(
      /companies revision 1: expected revision 0.*prices revision 1: expected revision 0/,
    ) as string,
    fix: expect.stringMatching(/store repair-settings/) as string,
  })
})
