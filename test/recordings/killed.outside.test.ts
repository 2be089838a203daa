/** `kill -9` at each step of the nightly work: each day is counted and charged once, and old audio is deleted. */
import { sql } from "kysely"
import { afterAll, expect, it } from "vitest"
import type { Failpoint } from "../../adapters/machine/failpoints/failpoints.ts"
import { recordingsStreamOf } from "../../domain/recordings/aggregates.ts"
import { causedBy } from "../../src/frame/kernel/envelope.ts"
import { isDeepRun } from "../charging/property-runs.ts"
import { collectEvents } from "../contracts/event-store-fixture.ts"
import { ledgerFactsOf, advanceWithoutWorkers } from "../effects/spending.ts"
import { worldDatabase } from "../support/world-database.ts"
import type { ServerDataFolder } from "../support/server-process.ts"
import { exitCodeOfStart, makeDataFolder } from "../support/server-process.ts"
import type { Company, World } from "../support/world.ts"
import { makeCompany, openWorld } from "../support/world.ts"
import { fetchRecording, storeRecording } from "./recording-world.ts"

const folders: ServerDataFolder[] = []
afterAll(async () => {
  for (const folder of folders) await folder.removeFiles()
})

type At = `${Failpoint}:${string}=${number}` | `${Failpoint}=${number}`
const DAY_MS = 86_400_000

/** Every third failpoint; all of them with `LEDGER_DEEP=1`. */
const ALL = [
  "append.before:RecordingDeleted=1",
  "append.after:RecordingDeleted=1",
  "append.before:StoredMinutesCounted=1",
  "append.after:StoredMinutesCounted=1",
  "append.after:StoredMinutesCounted=2",
  "append.before:Charged=1",
  "append.after:Charged=1",
  "append.after:Charged=2",
  "projection.inside=1",
] as const satisfies readonly At[]
const AT = isDeepRun ? ALL : ALL.filter((_, i) => i % 3 === 1)

/** A company with an old and a young recording, and two days to count. */
async function makeOverdueCompany(world: World) {
  await world.operate("clock set", { to: "2040-03-10T12:00:00Z" })
  const company = await makeCompany(world)
  const calledAt = world.ports.clock.now() - 30 * DAY_MS
  const old = await storeRecording(world, company, { calledAt: calledAt + 1, seconds: 600 })
  const young = await storeRecording(world, company, { seconds: 61 })
  const setRetention = { type: "SetRetention" as const, days: 30 as const }
  await world.ports.runner.execute(
    recordingsStreamOf(company.companyId),
    setRetention,
    causedBy("test"),
  )
  await world.operate("wait")
  await advanceWithoutWorkers(world, "2040-03-12T12:00:00Z")
  return { company, old, young }
}

const charged = async (world: World, { companyId }: Company) =>
  (await ledgerFactsOf(world, companyId, "Charged")).map(({ chargeId, quantity }) => [
    chargeId.slice(companyId.length),
    quantity,
  ])

it.each(AT)(
  "each day is counted and charged once after a crash at %s",
  async (failpoint) => {
    const database = await worldDatabase()
    const setup = await openWorld("start", { url: database.url })
    const { company, old, young } = await makeOverdueCompany(setup)
    await setup.close()
    const folder = await makeDataFolder({
      DATABASE_URL: database.url,
      LEDGER_CLOCK: "test",
      NODE_ENV: "test",
      LEDGER_FAILPOINTS: failpoint,
    })
    folders.push(folder)
    expect(await exitCodeOfStart(folder)).toBeNull()
    const world = await openWorld("start", { url: database.url })
    await world.operate("clock advance", { duration: "11m" })
    expect(await charged(world, company)).toEqual([
      [":recordings:2040-03-10", 2],
      [":recordings:2040-03-11", 2],
    ])
    const stream = recordingsStreamOf(company.companyId).stream
    const types = (await collectEvents(world.ports.store.read(stream))).map(({ type }) => type)
    expect(types).toEqual([
      "RecordingStored",
      "RecordingStored",
      "RetentionSet",
      "RecordingDeleted",
      "StoredMinutesCounted",
      "StoredMinutesCounted",
    ])
    expect((await fetchRecording(world, company, old)).status).toBe(404)
    expect((await fetchRecording(world, company, young)).status).toBe(200)
    const { rows } = await sql`select from ledger.blobs`.execute(world.ports.readAll)
    expect(rows).toHaveLength(1)
    await world.operate("clock advance", { duration: "2h" })
    expect(await charged(world, company)).toHaveLength(2)
    await world.close()
    await database.drop()
  },
  120_000,
)
