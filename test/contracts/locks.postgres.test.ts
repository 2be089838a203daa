/** What every implementation of the locks' port does. */
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

/** Takes a lock that must be free. @throws Error where it is not */
async function taken(locks: Locks, name: string): Promise<ReleaseLock> {
  const release = await locks.acquire(name, 10_000)
  if (release === null) throw new Error(`${name} is not free`)
  return release
}

/** How two processes' locks on the same things are opened. */
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
  it("are held by one, and by the next once they are given back", async () => {
    const { mine, theirs } = open()
    const release = await taken(mine, "ledger-a")
    expect(await theirs.acquire("ledger-a", 20)).toBeNull()
    expect(await mine.acquire("ledger-a", 20)).toBeNull()
    await release()
    const next = await taken(theirs, "ledger-a")
    expect(await mine.acquire("ledger-a", 20)).toBeNull()
    await next()
  })

  it("of different names have nothing to do with one another", async () => {
    const { mine, theirs } = open()
    const one = await taken(mine, "ledger-b")
    const two = await taken(theirs, "ledger-c")
    await Promise.all([one(), two()])
    const again = await taken(mine, "ledger-c")
    await again()
    expect(again).not.toBe(two)
  })

  it("are waited for", async () => {
    const { mine, theirs } = open()
    const release = await taken(mine, "ledger-d")
    const waiting = taken(theirs, "ledger-d")
    await release()
    const next = await waiting
    expect(await mine.acquire("ledger-d", 20)).toBeNull()
    await next()
  })

  it("let one of many in at a time", async () => {
    const { mine, theirs } = open()
    let inside = 0
    let most = 0
    const enter = async (locks: Locks) => {
      const release = await taken(locks, "ledger-e")
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
  it("leaves nothing behind on the connection that held it, or waited for it in vain", async () => {
    const pool = database.pool(1)
    const others = openPostgresLocks(theirPool, warn)
    const locks = openPostgresLocks(pool, warn)
    const release = await taken(others, "ledger-f")
    expect(await locks.acquire("ledger-f", 20)).toBeNull()
    await release()
    const own = await taken(locks, "ledger-f")
    await own()
    const { rows } = await pool.query("select current_setting('lock_timeout') as wait")
    expect(rows).toEqual([{ wait: "0" }])
    expect(warnings).toEqual([])
  })

  it("is free again when its holder's connection breaks", async () => {
    const told: string[] = []
    const locks = openPostgresLocks(minePool, (message) => told.push(message))
    const release = await taken(locks, "ledger-g")
    const broken = await theirPool.query(
      `select pg_terminate_backend(pid, 5000) from pg_locks
       where locktype = 'advisory' and granted and objsubid = 1
         and database = (select oid from pg_database where datname = current_database())`,
    )
    expect(broken.rowCount).toBe(1)
    const next = await taken(openPostgresLocks(theirPool, warn), "ledger-g")
    await Promise.all([release(), next()])
    expect(told).toEqual(["a lock was released by closing its connection"])
  })

  it("is not waited for beyond its time where no connection is free", async () => {
    const pool = database.pool(1)
    const locks = openPostgresLocks(pool, warn)
    const busy = await pool.connect()
    expect(await locks.acquire("ledger-h", 20)).toBeNull()
    busy.release()
    const release = await taken(locks, "ledger-h")
    await release()
    expect(warnings).toEqual([])
  })
})
