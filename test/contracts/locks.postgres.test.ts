/** The contract of every implementation of locks. */
import { describe, expect, it } from "vitest"
import { machinePacer } from "../../adapters/machine/clock/database-clock.ts"
import { openMemoryLocks, openPostgresLocks } from "../../adapters/postgres/locks/locks.ts"
import type { Locks, ReleaseLock } from "../../adapters/postgres/locks/port.ts"
import { databaseUnderTest } from "../postgres/database-under-test.ts"

const database = await databaseUnderTest()
const warnings: string[] = []
const warn = (message: string) => warnings.push(message)
const minePool = database.pool(3)
const theirPool = database.pool(3)

/** Acquires a lock. @throws Error if it does not become free */
async function acquire(locks: Locks, name: string): Promise<ReleaseLock> {
  const release = await locks.acquire(name, 10_000)
  if (release === null) throw new Error(`${name} is not free`)
  return release
}

/** Opens the locks of two processes. */
const LOCKS = {
  memory: () => {
    const locks = openMemoryLocks(machinePacer)
    return { mine: locks, theirs: locks }
  },
  "PostgreSQL's": () => ({
    mine: openPostgresLocks(minePool, warn),
    theirs: openPostgresLocks(theirPool, warn),
  }),
}

describe.for(Object.entries(LOCKS))("%s locks", ([, open]) => {
  it("are held by one process, and by the next one after the release", async () => {
    const { mine, theirs } = open()
    const release = await acquire(mine, "ledger-a")
    expect(await theirs.acquire("ledger-a", 20)).toBeNull()
    expect(await mine.acquire("ledger-a", 20)).toBeNull()
    await release()
    const next = await acquire(theirs, "ledger-a")
    expect(await mine.acquire("ledger-a", 20)).toBeNull()
    await next()
  })

  it("of different names are independent", async () => {
    const { mine, theirs } = open()
    const one = await acquire(mine, "ledger-b")
    const two = await acquire(theirs, "ledger-c")
    await Promise.all([one(), two()])
    const again = await acquire(mine, "ledger-c")
    await again()
    expect(again).not.toBe(two)
  })

  it("can be waited for", async () => {
    const { mine, theirs } = open()
    const release = await acquire(mine, "ledger-d")
    const waiting = acquire(theirs, "ledger-d")
    await release()
    const next = await waiting
    expect(await mine.acquire("ledger-d", 20)).toBeNull()
    await next()
  })

  it("admit one caller at a time", async () => {
    const { mine, theirs } = open()
    let inside = 0
    let most = 0
    const enter = async (locks: Locks) => {
      const release = await acquire(locks, "ledger-e")
      inside += 1
      most = Math.max(most, inside)
      await new Promise(setImmediate)
      inside -= 1
      await release()
    }
    await Promise.all(Array.from({ length: 12 }, (_, i) => enter(i % 2 === 0 ? mine : theirs)))
    expect(most).toBe(1)
  })
})

describe("a lock of PostgreSQL", () => {
  it("leaves no setting on a connection that held it or timed out", async () => {
    const pool = database.pool(1)
    const others = openPostgresLocks(theirPool, warn)
    const locks = openPostgresLocks(pool, warn)
    const release = await acquire(others, "ledger-f")
    expect(await locks.acquire("ledger-f", 20)).toBeNull()
    await release()
    const own = await acquire(locks, "ledger-f")
    await own()
    const { rows } = await pool.query("select current_setting('lock_timeout') as wait")
    expect(rows).toEqual([{ wait: "0" }])
    expect(warnings).toEqual([])
  })

  it("is free again when its holder's connection breaks", async () => {
    const logged: string[] = []
    const locks = openPostgresLocks(minePool, (message) => logged.push(message))
    const release = await acquire(locks, "ledger-g")
    const broken = await theirPool.query(
      `select pg_terminate_backend(pid, 5000) from pg_locks
       where locktype = 'advisory' and granted and objsubid = 1
         and database = (select oid from pg_database where datname = current_database())`,
    )
    expect(broken.rowCount).toBe(1)
    const next = await acquire(openPostgresLocks(theirPool, warn), "ledger-g")
    await Promise.all([release(), next()])
    expect(logged).toEqual(["a lock was released by closing its connection"])
  })

  it("times out while no connection is free", async () => {
    const pool = database.pool(1)
    const locks = openPostgresLocks(pool, warn)
    const busy = await pool.connect()
    expect(await locks.acquire("ledger-h", 20)).toBeNull()
    busy.release()
    const release = await acquire(locks, "ledger-h")
    await release()
    expect(warnings).toEqual([])
  })
})
