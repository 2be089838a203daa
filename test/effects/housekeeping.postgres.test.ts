import { expect, it } from "vitest"
import { BlobGone } from "../../adapters/postgres/blobs/port.ts"
import { MUCH, WHOSE, heldSource } from "../contracts/blobs-fixture.ts"
import { query } from "../support/embedded.ts"
import { makeCompany, openWorld } from "../support/world.ts"

it("sweeps blobs that somebody left half-written, and no clock of a test makes them older", async () => {
  const world = await openWorld("time", { clock: "test" })
  try {
    const { companyId } = await makeCompany(world)
    const { source, given, goOn } = heldSource()
    const writing = world.ports.blobs.write({ ...WHOSE, companyId }, source, MUCH)
    await given
    const chunks = () => query(world.databaseUrl, "select 1 from ledger.blob_chunks")
    await world.operate("clock advance", { duration: "40d" })
    await world.ports.housekeep()
    expect((await chunks()).length).toBeGreaterThan(0)
    await query(
      world.databaseUrl,
      "update ledger.blobs set started_at = now() - interval '25 hours'",
    )
    await world.ports.housekeep()
    expect(await chunks()).toEqual([])
    goOn()
    await expect(writing).rejects.toThrow(BlobGone)
    expect(world.warnings).toEqual([])
  } finally {
    await world.close()
  }
}, 60_000)
