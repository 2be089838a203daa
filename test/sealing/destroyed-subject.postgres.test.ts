/** The key of one subject of a company is destroyed: what it sealed is gone, in every process. */
import { afterAll, beforeAll, expect, it } from "vitest"
import type { World } from "../support/world.ts"
import { makeCompany, openWorld, ownWorld } from "../support/world.ts"

const world = await ownWorld("store")
let other: World
beforeAll(async () => {
  other = await openWorld("start", { url: world.databaseUrl })
})
afterAll(async () => {
  await other.close()
})

it("leaves all others of the company, and none is made for it again", async () => {
  const { companyId } = await makeCompany(world)
  const { sealing, erasure } = world.ports
  const gone = await sealing.seal(companyId, "lead_1", "Ada")
  const stays = await sealing.seal(companyId, "lead_2", "Bea")
  expect(await other.ports.sealing.open(companyId, gone)).toBe("Ada")
  await erasure.destroySubject(companyId, "lead_1")
  expect(await sealing.open(companyId, gone)).toBeNull()
  await expect.poll(() => other.ports.sealing.open(companyId, gone)).toBeNull()
  expect(await sealing.open(companyId, stays)).toBe("Bea")
  await erasure.destroySubject(companyId, "lead_1")
  for (const { sealing: any } of [world.ports, other.ports]) {
    await expect(any.seal(companyId, "lead_1", "Cyd")).rejects.toThrow(/lead_1 .* was erased/)
    expect(await any.open(companyId, gone)).toBeNull()
  }
})
