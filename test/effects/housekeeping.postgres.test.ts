import { expect, it } from "vitest"
import { BlobGone } from "../../adapters/postgres/blobs/port.ts"
import { LARGE_BLOB_LIMIT, BLOB_OWNER, pausedSource } from "../contracts/blobs-fixture.ts"
import { queryRows } from "../support/embedded-postgres.ts"
import { makeCompany, openWorld } from "../support/world.ts"

it("housekeeping deletes unfinished blobs by the real time, not by the test clock", async () => {
  const world = await openWorld("time", { clock: "test" })
  try {
    const { companyId } = await makeCompany(world)
    const { source, given, goOn } = pausedSource()
    const writing = world.ports.blobs.write({ ...BLOB_OWNER, companyId }, source, LARGE_BLOB_LIMIT)
    await given
    const chunks = () => queryRows(world.databaseUrl, "select 1 from ledger.blob_chunks")
    await world.operate("clock advance", { duration: "40d" })
    await world.ports.runHousekeeping()
    expect((await chunks()).length).toBeGreaterThan(0)
    await queryRows(
      world.databaseUrl,
      "update ledger.blobs set started_at = now() - interval '25 hours'",
    )
    await world.ports.runHousekeeping()
    expect(await chunks()).toEqual([])
    goOn()
    await expect(writing).rejects.toThrow(BlobGone)
    expect(world.warnings).toEqual([])
  } finally {
    await world.close()
  }
}, 60_000)
