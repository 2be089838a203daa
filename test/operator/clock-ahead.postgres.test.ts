/** An installation whose test clock was moved, opened by the machine's clock. */
import { expect, it, onTestFinished } from "vitest"
import { StartupFault } from "../../adapters/startup/port.ts"
import { explainOpening } from "../../src/compose/opening-faults.ts"
import { testDatabase } from "../support/postgres.ts"
import type { World } from "../support/world.ts"
import { makeCompany, openWorld } from "../support/world.ts"

/** A database in which a company was made, and then a time of the clock's. */
async function livedUntil(move: (world: World) => Promise<unknown>): Promise<string> {
  const database = await testDatabase()
  onTestFinished(() => database.drop())
  const world = await openWorld("start", { url: database.url })
  await makeCompany(world)
  await move(world)
  await world.close()
  return database.url
}

it("is refused while that is ahead, and goes on by the test clock", async () => {
  const url = await livedUntil((world) => world.operate("clock advance", { duration: "30d" }))
  const refused = await openWorld("start", { url, clock: "system" }).catch(
    (error: unknown) => error,
  )
  const said = explainOpening(refused, { eventStoreUrl: null })
  expect(said).toBeInstanceOf(StartupFault)
  expect(String(said)).toMatch(
    /test clock .* was moved to 20\d\d-.*Z, .*: set LEDGER_CLOCK=test, or use another/,
  )
  const again = await openWorld("start", { url, clock: "test" })
  onTestFinished(() => again.close())
  await again.operate("clock advance", { duration: "1d" })
})

it("goes on by the machine's where the test clock stood still", async () => {
  const url = await livedUntil((world) => world.operate("clock show"))
  const again = await openWorld("start", { url, clock: "system" })
  onTestFinished(() => again.close())
  await again.operate("wait")
  expect(again.warnings).toEqual([])
})
