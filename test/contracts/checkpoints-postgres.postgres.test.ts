import { expect, it } from "vitest"
import { openPostgresCheckpoints } from "../../adapters/checkpoints/postgres.ts"
import { openPool } from "../../adapters/postgres/database.ts"
import { databaseUnderTest } from "../postgres/database-under-test.ts"
import { checkpointsContract } from "./checkpoints-contract.ts"

const database = await databaseUnderTest()

checkpointsContract("checkpoints in PostgreSQL", async () => {
  const pool = database.pool()
  await pool.query("delete from ledger.checkpoints")
  return openPostgresCheckpoints(pool)
})

it("a checkpoint that is no JSON any more is none, and an audit still sees what is kept", async () => {
  const pool = database.pool()
  const checkpoints = openPostgresCheckpoints(pool)
  await checkpoints.save("ledger-broken", { revision: 1, hash: "h", shape: 1, saved: null })
  await pool.query("update ledger.checkpoints set saved = '{' where stream = 'ledger-broken'")
  expect(await checkpoints.load("ledger-broken")).toBeNull()
  const kept = { revision: 1, hash: "h", shape: 1, text: "{" }
  expect(await checkpoints.stored("ledger-broken")).toMatchObject(kept)
})

it("a checkpoint that cannot be asked for is none: the facts are folded instead", async () => {
  const away = openPool("postgres://nobody@127.0.0.1:1/nowhere", 1, () => undefined)
  const checkpoints = openPostgresCheckpoints(away)
  expect(await checkpoints.load("ledger-a")).toBeNull()
  const checkpoint = { revision: 1, hash: "", shape: 1, saved: null }
  await expect(checkpoints.save("ledger-a", checkpoint)).rejects.toThrow("ECONNREFUSED")
  await away.end()
})
