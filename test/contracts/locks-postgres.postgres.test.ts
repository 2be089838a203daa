import { describe, expect, it } from "vitest"
import { openPostgresLocks } from "../../adapters/locks/postgres.ts"
import { databaseUnderTest } from "../postgres/database-under-test.ts"
import { describeLocks, taken } from "./locks-contract.ts"

const database = await databaseUnderTest()
const warnings: string[] = []
const warn = (message: string) => warnings.push(message)
const mine = database.pool(3)
const theirs = database.pool(3)

describeLocks("PostgreSQL's", () => ({
  mine: openPostgresLocks(mine, warn),
  theirs: openPostgresLocks(theirs, warn),
}))

describe("a lock of PostgreSQL", () => {
  it("leaves nothing behind on the connection that held it, or waited for it in vain", async () => {
    const pool = database.pool(1)
    const others = openPostgresLocks(theirs, warn)
    const locks = openPostgresLocks(pool, warn)
    const release = await taken(others, "ledger-f")
    expect(await locks.take("ledger-f", 20)).toBeNull()
    await release()
    const own = await taken(locks, "ledger-f")
    await own()
    const { rows } = await pool.query("select current_setting('lock_timeout') as wait")
    expect(rows).toEqual([{ wait: "0" }])
    expect(warnings).toEqual([])
  })

  it("is free again when its holder's connection breaks", async () => {
    const told: string[] = []
    const locks = openPostgresLocks(mine, (message) => told.push(message))
    const release = await taken(locks, "ledger-g")
    const broken = await theirs.query(
      `select pg_terminate_backend(pid, 5000) from pg_locks
       where locktype = 'advisory' and granted and objsubid = 1
         and database = (select oid from pg_database where datname = current_database())`,
    )
    expect(broken.rowCount).toBe(1)
    const next = await taken(openPostgresLocks(theirs, warn), "ledger-g")
    await Promise.all([release(), next()])
    expect(told).toEqual(["a lock was given back with its connection"])
  })

  it("is not waited for beyond its time where no connection is free", async () => {
    const pool = database.pool(1)
    const locks = openPostgresLocks(pool, warn)
    const busy = await pool.connect()
    expect(await locks.take("ledger-h", 20)).toBeNull()
    busy.release()
    const release = await taken(locks, "ledger-h")
    await release()
    expect(warnings).toEqual([])
  })
})
