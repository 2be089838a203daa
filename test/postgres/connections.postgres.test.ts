import { once } from "node:events"
import { connect, createServer } from "node:net"
import pg from "pg"
import { describe, expect, it, beforeEach } from "vitest"
import { machinePacer } from "../../adapters/machine/clock/database-clock.ts"
import { openPostgresErasure } from "../../adapters/postgres/erasure/postgres.ts"
import type { TtlRecord } from "../../adapters/postgres/ttl-store/port.ts"
import { openPostgresTtlStore } from "../../adapters/postgres/ttl-store/postgres.ts"
import { openPool, kyselyOnConnection } from "../../adapters/postgres/database.ts"
import { isConnectionFault } from "../../adapters/postgres/port.ts"
import { databaseUnderTest } from "./database-under-test.ts"

const database = await databaseUnderTest()

/** The error of a statement; null if it succeeds. */
async function failureOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => null,
    (error: unknown) => error,
  )
}

async function idOf(client: pg.PoolClient): Promise<number> {
  const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid")
  return rows[0]?.pid ?? 0
}

describe("a connection in use", () => {
  it("can break between two statements without ending the process", async () => {
    const [pool, other] = [database.pool(), database.pool()]
    const client = await pool.connect()
    const ended = new Promise((resolve) => client.once("end", resolve))
    await other.query("select pg_terminate_backend($1, 5000)", [await idOf(client)])
    await ended
    const failure = await failureOf(client.query("select 1"))
    client.release(true)
    expect(isConnectionFault(failure)).toBe(true)
    expect(await pool.query("select 1")).toMatchObject({ rowCount: 1 })
  })

  it("can break during a statement", async () => {
    const [pool, other] = [database.pool(), database.pool()]
    const client = await pool.connect()
    const pid = await idOf(client)
    const failing = failureOf(client.query("select pg_sleep(60)"))
    const isAsleep = async () => {
      const { rowCount } = await other.query(
        "select from pg_stat_activity where pid = $1 and wait_event = 'PgSleep'",
        [pid],
      )
      return rowCount === 1
    }
    await expect.poll(isAsleep, { interval: 10 }).toBe(true)
    await other.query("select pg_terminate_backend($1, 5000)", [pid])
    const failure = await failing
    client.release(true)
    expect(isConnectionFault(failure)).toBe(true)
  })

  it("is reported if it breaks while it is idle", async () => {
    const other = database.pool()
    const lost = Promise.withResolvers<Error>()
    const pool = openPool(database.url, 1, lost.resolve)
    const { rows } = await pool.query<{ pid: number }>("select pg_backend_pid() as pid")
    await other.query("select pg_terminate_backend($1, 5000)", [rows[0]?.pid])
    expect(isConnectionFault(await lost.promise)).toBe(true)
    await pool.end()
  })
})

describe("a connection fault", () => {
  it("is a server that does not listen", async () => {
    const server = createServer()
    server.listen(0, "127.0.0.1")
    await once(server, "listening")
    const address = server.address()
    const port = typeof address === "object" ? address?.port : 0
    server.close()
    await once(server, "close")
    const pool = openPool(`postgres://a@127.0.0.1:${port}/a`, 1, () => undefined)
    expect(isConnectionFault(await failureOf(pool.query("select 1")))).toBe(true)
    await pool.end()
  })

  it("is a server that closes the connection during the handshake", async () => {
    const server = createServer((socket) => socket.end())
    server.listen(0, "127.0.0.1")
    await once(server, "listening")
    const address = server.address()
    const port = typeof address === "object" ? address?.port : 0
    const probe = connect(port ?? 0, "127.0.0.1")
    await once(probe, "connect")
    probe.destroy()
    const pool = openPool(`postgres://a@127.0.0.1:${port}/a`, 1, () => undefined)
    expect(isConnectionFault(await failureOf(pool.query("select 1")))).toBe(true)
    await pool.end()
    server.close()
  })

  it("is a deadlock, a full disk and a shutdown by an operator, by PostgreSQL's codes", () => {
    for (const code of ["40P01", "40001", "53100", "53300", "57014", "57P01", "08006"]) {
      expect(isConnectionFault(Object.assign(new Error("refused"), { code })), code).toBe(true)
    }
  })

  it("is not an invalid statement", async () => {
    const pool = database.pool()
    for (const statement of ["select nothing", "select 1 / 0", "insert into nowhere values (1)"]) {
      expect(isConnectionFault(await failureOf(pool.query(statement))), statement).toBe(false)
    }
    expect(isConnectionFault("connection terminated")).toBe(false)
    expect(isConnectionFault(new pg.DatabaseError("duplicate", 9, "error"))).toBe(false)
  })
})

describe("typed queries on a connection", () => {
  it("write U+0000 as U+FFFD, because PostgreSQL's text cannot contain it", async () => {
    const client = await database.pool().connect()
    const db = kyselyOnConnection(client)
    const { sql } = await import("kysely")
    const { rows } = await sql`select ${"a\0b"}::text as one, ${["\0", "c", null]}::text[] as many`
      .execute(db)
      .finally(() => client.release())
    expect(rows).toEqual([{ one: "a\uFFFDb", many: ["\uFFFD", "c", null] }])
  })
})

const COMPANY = "co_aaaaaa"
const OTHER = "co_bbbbbb"
const NOW = Date.UTC(2031, 4, 6, 7, 8, 9, 123)
const MINUTE = 60_000

interface Count {
  readonly count: number
}
const pool = database.pool()
let now: number

/** Opens the expiring records as a new process does. */
const open = (kind = "pick", slice = "places") =>
  openPostgresTtlStore({ pool, clock: { now: () => now } }).of<Count>({ slice, kind })
const oneMore = (known: TtlRecord<Count> | null): TtlRecord<Count> => ({
  content: { count: (known?.content.count ?? 0) + 1 },
  expiresAt: now + MINUTE,
})
const rows = async () => (await pool.query("select name from ledger.expiring_records")).rowCount

beforeEach(async () => {
  await pool.query("truncate ledger.expiring_records")
  now = NOW
})

describe("an expiring record", () => {
  it("is found by its name until it expires", async () => {
    await open().update(COMPANY, "a", oneMore)
    const found = { content: { count: 1 }, expiresAt: NOW + MINUTE }
    expect(await open().find(COMPANY, "a")).toEqual(found)
    now = NOW + MINUTE - 1
    expect(await open().find(COMPANY, "a")).toEqual(found)
    now = NOW + MINUTE
    expect(await open().find(COMPANY, "a")).toBeNull()
    // Afterwards a new record can have the name, and starts from nothing.
    expect((await open().update(COMPANY, "a", oneMore)).content).toEqual({ count: 1 })
  })

  it("is separate for each company, slice and kind", async () => {
    await open().update(COMPANY, "a", oneMore)
    expect(await open().find(OTHER, "a")).toBeNull()
    expect(await open("code").find(COMPANY, "a")).toBeNull()
    expect(await open("pick", "code").find(COMPANY, "a")).toBeNull()
    expect(await open().find(COMPANY, "b")).toBeNull()
  })

  it("is updated by one caller at a time", async () => {
    const changes = Array.from({ length: 40 }, () => open().update(COMPANY, "a", oneMore))
    const counts = (await Promise.all(changes)).map(({ content }) => content.count)
    expect(counts.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 40 }, (_, i) => i + 1))
  })

  it("has one owner after concurrent updates, whether it is new or expired", async () => {
    for (const when of [NOW, NOW + MINUTE, NOW + 3 * MINUTE]) {
      now = when
      const takers = Array.from({ length: 40 }, async (_, i) => {
        const taken = await open().update(
          COMPANY,
          "a",
          (known) => known ?? { content: { count: i }, expiresAt: now + MINUTE },
        )
        return taken.content.count === i
      })
      expect((await Promise.all(takers)).filter(Boolean)).toHaveLength(1)
    }
  })

  it("is not written if the update returns the same object", async () => {
    await open().update(COMPANY, "a", oneMore)
    const versions = () => pool.query("select xmin::text from ledger.expiring_records")
    const before = (await versions()).rows
    await open().update(COMPANY, "a", (known) => known ?? expect.fail("it was not found"))
    expect((await versions()).rows).toEqual(before)
  })

  it("can be deleted", async () => {
    await open().update(COMPANY, "a", oneMore)
    await open().update(COMPANY, "b", oneMore)
    await open().delete(COMPANY, "a")
    expect(await open().find(COMPANY, "a")).toBeNull()
    expect(await rows()).toBe(1)
  })

  it("is deleted by housekeeping once it expired", async () => {
    await open().update(COMPANY, "a", oneMore)
    now = NOW + 1
    await open().update(COMPANY, "b", oneMore)
    now = NOW + MINUTE
    await openPostgresTtlStore({ pool, clock: { now: () => now } }).deleteExpired()
    expect(await rows()).toBe(1)
    expect(await open().find(COMPANY, "b")).not.toBeNull()
  })

  it("is deleted with its company", async () => {
    await open().update(COMPANY, "a", oneMore)
    await open().update(OTHER, "a", oneMore)
    const forgetKeys = () => undefined
    await openPostgresErasure({
      pool,
      pacer: machinePacer,
      forgetKeys,
      readModels: [],
    }).deleteRows(COMPANY)
    expect(await open().find(COMPANY, "a")).toBeNull()
    expect(await open().find(OTHER, "a")).not.toBeNull()
  })
})
