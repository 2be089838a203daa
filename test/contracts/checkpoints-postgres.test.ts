import { expect, it } from "vitest"
import { openPostgresCheckpoints } from "../../adapters/checkpoints/postgres.ts"
import { openPool } from "../../adapters/postgres/database.ts"
import { DatabaseUnderTest } from "../postgres/database-under-test.ts"
import { checkpointsContract } from "./checkpoints-contract.ts"

const database = new DatabaseUnderTest()

checkpointsContract("checkpoints in PostgreSQL", async () => {
  const pool = database.pool()
  await pool.query("delete from ledger.checkpoints")
  return openPostgresCheckpoints(pool)
})

it("a checkpoint that cannot be asked for is none: the facts are folded instead", async () => {
  const away = openPool("postgres://nobody@127.0.0.1:1/nowhere", 1, () => undefined)
  const checkpoints = openPostgresCheckpoints(away)
  expect(await checkpoints.load("ledger-a")).toBeNull()
  const checkpoint = { revision: 1, hash: "", shape: 1, saved: null }
  await expect(checkpoints.save("ledger-a", checkpoint)).rejects.toThrow("ECONNREFUSED")
  await away.end()
})
