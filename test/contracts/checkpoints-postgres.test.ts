import { openPostgresCheckpoints } from "../../adapters/checkpoints/postgres.ts"
import { DatabaseUnderTest } from "../postgres/database-under-test.ts"
import { checkpointsContract } from "./checkpoints-contract.ts"

const database = new DatabaseUnderTest()

checkpointsContract("checkpoints in PostgreSQL", async () => {
  const pool = database.pool()
  await pool.query("delete from ledger.checkpoints")
  return openPostgresCheckpoints(pool)
})
