/** Processes that start on one database, at once and one after the other. */
import { afterEach, expect, it } from "vitest"
import { testDatabase } from "../support/postgres.ts"
import { type World, makeCompany, openWorld } from "../support/world.ts"

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

async function open(url: string): Promise<World> {
  const world = await openWorld("start", { url })
  closing.push(() => world.close())
  return world
}

it("four processes that start at once on an empty database make one installation of it", async () => {
  const database = await testDatabase({ migrated: false })
  closing.push(() => database.drop())
  const worlds = await Promise.all(Array.from({ length: 4 }, () => open(database.url)))
  const [first, second] = worlds as [World, World]
  const { companyId } = await makeCompany(first)
  expect(await second.operate("company show", { company: companyId })).toMatchObject({
    companyId,
    balanceMicros: 50_000_000,
  })
  const standing = await Promise.all(worlds.map((world) => world.operate("projections status")))
  const here = standing.flatMap(({ projections }) =>
    projections
      .filter((one: { here: boolean }) => one.here)
      .map(({ name }: { name: string }) => name),
  )
  const names = standing[0].projections.map(({ name }: { name: string }) => name)
  expect(here.toSorted()).toEqual(names.toSorted())
  expect(await first.operate("audit show", { stream: "prices" })).toMatchObject({
    events: [{ revision: 0 }],
  })
  for (const world of worlds) expect(world.warnings).toEqual([])
})

it("one that comes later shows what the others wrote, and goes on when they have stopped", async () => {
  const database = await testDatabase()
  closing.push(() => database.drop())
  const first = await openWorld("start", { url: database.url })
  const { companyId, key } = await makeCompany(first)
  const second = await open(database.url)
  expect((await second.call(key, "GET", "/api/v1/people")).status).toBe(200)
  await first.close()
  await second.operate("funds add", { company: companyId, dollars: "5" })
  await second.operate("wait")
  const { projections } = await second.operate("projections status")
  expect(projections.every((one: { here: boolean }) => one.here)).toBe(true)
  const audit = await second.operate("audit verify")
  expect(audit.checks.filter((check: { ok: boolean }) => !check.ok)).toEqual([])
  expect(second.warnings).toEqual([])
})
