import { randomBytes } from "node:crypto"
import { describe, expect, it } from "vitest"
import { openPostgresDkimKeys } from "../../adapters/dkim-keys/postgres.ts"
import { migrateToLatest } from "../../adapters/postgres/migrate.ts"
import { SealFault } from "../../adapters/sealing/port.ts"
import { openPostgresSealing } from "../../adapters/sealing/postgres.ts"
import { dkimMigrations } from "../../src/email/dkim-table.ts"
import { databaseUnderTest } from "../postgres/database-under-test.ts"
import { dkimKeysContract } from "./dkim-keys-contract.ts"

const MASTER = randomBytes(32)
const database = await databaseUnderTest()
await migrateToLatest(database.url, dkimMigrations)

function open() {
  const pool = database.pool()
  return openPostgresDkimKeys({ pool, sealing: openPostgresSealing(pool, MASTER) })
}

describe("signing keys in PostgreSQL", () => {
  dkimKeysContract(() => ({ keys: open(), again: open }))

  it("stand there sealed, and open in no other's place", async () => {
    const keys = open()
    const own = { companyId: "co_cccccc", sendingDomainId: "snd_own" } as const
    const other = { ...own, sendingDomainId: "snd_other" }
    await Promise.all([keys.create(own), keys.create(other)])
    const pool = database.pool()
    const { rows } = await pool.query<{ private_key: Buffer }>(
      "select private_key from ledger.dkim_keys where company_id = 'co_cccccc'",
    )
    expect(rows.map((row) => row.private_key.includes("PRIVATE KEY"))).toEqual([false, false])
    await pool.query(
      `update ledger.dkim_keys set private_key =
         (select private_key from ledger.dkim_keys where sending_domain_id = 'snd_own')
       where sending_domain_id = 'snd_other'`,
    )
    await expect(keys.find(other)).rejects.toThrow(SealFault)
  })
})
