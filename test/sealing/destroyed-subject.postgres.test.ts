/** The key of one subject of a company is destroyed: what it sealed is gone, in every process. */
import { expect, it } from "vitest"
import { makeCompany, ownWorld } from "../support/world.ts"

const world = await ownWorld("store")
const other = await ownWorld("start", { url: world.databaseUrl })

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
