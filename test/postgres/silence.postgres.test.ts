/** A database that does not answer: how long callers wait, and what happens to connections. */
import { sql } from "kysely"
import { describe, expect, it, onTestFinished, vi } from "vitest"
import { openPostgresIdempotency } from "../../adapters/postgres/idempotency/postgres.ts"
import { openDatabaseClock, machinePacer } from "../../adapters/machine/clock/database-clock.ts"
import { ClockUnsure } from "../../adapters/machine/clock/port.ts"
import {
  kyselyOf,
  openWriteBehindPool,
  openPool,
  withoutTimeouts,
} from "../../adapters/postgres/database.ts"
import { isConnectionFault } from "../../adapters/postgres/port.ts"
import type { DatabaseTimeouts } from "../../adapters/postgres/watch.ts"
import { watchDatabase } from "../../adapters/postgres/watch.ts"
import { cuttableConnection } from "../support/cuttable-connection.ts"
import { databaseUnderTest } from "./database-under-test.ts"
import { scaledMs } from "../support/scaled-time.ts"

const database = await databaseUnderTest()

const SHORT: DatabaseTimeouts = {
  statementTimeoutMs: 300,
  writeBehindTimeoutMs: 20_000,
  probeIntervalMs: 500,
  outageTimeoutMs: 300,
  recoveryTimeoutMs: 300,
}

const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => null,
    (error: unknown) => error,
  )

/** A watched connection to the database that can hang, and pools over it. */
async function openWatched(timeouts: DatabaseTimeouts = SHORT) {
  const connection = await cuttableConnection(database.url)
  const changes: string[] = []
  const sinces: number[] = []
  const watch = watchDatabase(
    connection.url,
    {
      onUnavailable: (since) => void sinces.push(since, changes.push("silent")),
      onAvailable: (since) => void sinces.push(since, changes.push("answers")),
    },
    timeouts,
  )
  onTestFinished(() => watch.stop())
  const opened = <P extends { end: () => Promise<void> }>(pool: P): P => {
    onTestFinished(() => pool.end())
    return pool
  }
  const ignore = () => undefined
  const isSilent = () => watch.unavailableSince() !== null
  return {
    connection,
    changes,
    sinces,
    watch,
    owner: opened(openPool(connection.url, 2, ignore, watch)),
    writeBehind: opened(openWriteBehindPool(connection.url, 2, ignore, watch)),
    untilSilent: async () => {
      await expect.poll(isSilent, { interval: 10 }).toBe(true)
    },
    untilAnswer: async () => {
      await expect.poll(isSilent, { interval: 10 }).toBe(false)
    },
  }
}

async function idOf(pool: { query: (text: string) => Promise<{ rows: { pid: number }[] }> }) {
  const { rows } = await pool.query("select pg_backend_pid() as pid")
  return rows[0]?.pid
}

describe("a statement without an answer", () => {
  it("ends with its connection, however it was sent, and the next one is served", async () => {
    const { owner } = await openWatched()
    const before = await idOf(owner)
    expect(isConnectionFault(await failureOf(owner.query("select pg_sleep(60)")))).toBe(true)
    expect(await idOf(owner)).not.toBe(before)
    const db = kyselyOf<unknown>(owner)
    const statements = [1, 2, 3, 4].map(() => failureOf(sql`select pg_sleep(60)`.execute(db)))
    for (const failure of await Promise.all(statements))
      expect(isConnectionFault(failure)).toBe(true)
    const client = await owner.connect()
    expect(isConnectionFault(await failureOf(client.query("select pg_sleep(60)")))).toBe(true)
    client.release()
    expect(await owner.query("select 1")).toMatchObject({ rowCount: 1 })
  })

  it("may take any time without timeouts, and the timeouts apply again afterwards", async () => {
    const { owner } = await openWatched()
    const patient = withoutTimeouts(owner)
    expect(await patient.query("select pg_sleep(0.6)")).toMatchObject({ rowCount: 1 })
    const client = await patient.connect()
    expect(await client.query("select pg_sleep(0.6)")).toMatchObject({ rowCount: 1 })
    client.release()
    expect(await failureOf(owner.query("select pg_sleep(60)"))).not.toBeNull()
    expect(await failureOf(patient.query("select 1 / 0"))).toMatchObject({ code: "22012" })
  })

  it("that waits for a lock has no effect once its caller gave up: a claim is not released", async () => {
    const { owner } = await openWatched()
    const other = database.pool()
    const request = {
      companyId: "co_aaaaaa",
      keyId: "key_aaaaaaaa",
      idempotencyKey: "behind a lock",
      fingerprint: "a".repeat(64),
      requestId: "req_1",
      at: Date.UTC(2026, 10, 21),
    } as const
    const processes = { ownId: "prc_silent", isAlive: async () => true }
    const claims = openPostgresIdempotency(owner, processes)
    const attempt = async () =>
      (await openPostgresIdempotency(other, processes).claim(request)) as object
    await claims.claim(request)
    const holder = await other.connect()
    await holder.query("begin; select 1 from ledger.idempotent_requests for update")
    expect(isConnectionFault(await failureOf(claims.release(request)))).toBe(true)
    await holder.query("rollback")
    holder.release()
    const late = `select from pg_stat_activity
      where datname = current_database() and query like 'update ledger.idempotent_requests%'`
    const isLate = async () => (await other.query(late)).rowCount
    await expect.poll(isLate).toBe(0)
    expect(await attempt()).toMatchObject({ state: "claimed", attempt: 0, isTakenOver: true })
  })
})

describe("a write-behind pool", () => {
  it("queues callers while no connection is free, however long that takes", async () => {
    const { writeBehind, changes } = await openWatched()
    const held = [await writeBehind.connect(), await writeBehind.connect()]
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
    onTestFinished(() => void vi.useRealTimers())
    const waiting = [1, 2, 3].map(
      async (one) => (await writeBehind.query("select $1::int as one", [one])).rows,
    )
    // A connection timeout would be five seconds.
    await vi.advanceTimersByTimeAsync(60_000)
    vi.useRealTimers()
    for (const client of held) client.release()
    expect(await Promise.all(waiting)).toEqual([[{ one: 1 }], [{ one: 2 }], [{ one: 3 }]])
    // A failed statement frees its connection too.
    const faults = [1, 2, 3].map(() => failureOf(writeBehind.query("no statement")))
    expect((await Promise.all(faults)).every((fault) => fault instanceof Error)).toBe(true)
    expect((await writeBehind.query("select 1 as one")).rows).toEqual([{ one: 1 }])
    expect(changes).toEqual([])
  })
})

describe("a database that stops answering", () => {
  it("is reported once, and once when it answers again, with the time of its last answer", async () => {
    const { connection, changes, sinces, untilSilent, untilAnswer, owner } = await openWatched()
    await owner.query("select 1")
    const beganAt = Date.now()
    connection.silence()
    await untilSilent()
    const refused = await Promise.all([1, 2, 3].map(() => failureOf(owner.query("select 1"))))
    for (const failure of refused) {
      expect(String(failure)).toContain(new Date(sinces[0] ?? 0).toISOString())
      expect(isConnectionFault(failure)).toBe(true)
    }
    expect(changes).toEqual(["silent"])
    connection.thaw()
    await untilAnswer()
    expect(changes).toEqual(["silent", "answers"])
    expect(sinces[0]).toBe(sinces[2])
    expect(Math.abs((sinces[0] ?? 0) - beganAt)).toBeLessThan(scaledMs(2_000))
    expect(await owner.query("select 1")).toMatchObject({ rowCount: 1 })
  })

  it("makes write-behind statements wait, and serves them once it answers", async () => {
    const { connection, writeBehind, untilSilent } = await openWatched()
    connection.silence()
    await untilSilent()
    const waiting = writeBehind.query("select 1")
    connection.failOver()
    expect(await waiting).toMatchObject({ rowCount: 1 })
  })

  it("and fails over leaves no caller on a connection to the former server", async () => {
    const { connection, owner, writeBehind, untilSilent, untilAnswer } = await openWatched()
    await Promise.all([
      owner.query("select 1"),
      owner.query("select 1"),
      writeBehind.query("select 1"),
    ])
    // Outstanding for up to the write-behind timeout.
    const outstanding = failureOf(writeBehind.query("select pg_sleep(60)"))
    connection.silence()
    await untilSilent()
    connection.failOver()
    await untilAnswer()
    expect(await owner.query("select 1")).toMatchObject({ rowCount: 1 })
    expect(isConnectionFault(await outstanding)).toBe(true)
    expect(await writeBehind.query("select 1")).toMatchObject({ rowCount: 1 })
  })

  it("and recovers continues statements without timeouts", async () => {
    const { connection, owner, untilSilent, untilAnswer } = await openWatched()
    // A connection attempt during the outage would be aborted, so the connection is opened before.
    const patient = await withoutTimeouts(owner).connect()
    const long = patient.query("select pg_sleep(1) as slept")
    connection.silence()
    await untilSilent()
    connection.thaw()
    await untilAnswer()
    expect(await long).toMatchObject({ rowCount: 1 })
    patient.release()
  })

  it("and fails over ends even statements without timeouts, which the new server does not know", async () => {
    const { connection, owner, untilSilent } = await openWatched()
    const other = database.pool()
    const patient = withoutTimeouts(owner)
    const [idle, busy] = [await patient.connect(), await patient.connect()]
    const pids = [await idOf(idle), await idOf(busy)]
    const ended = new Promise((resolve) => idle.once("end", resolve))
    const long = failureOf(busy.query("select pg_sleep(60)"))
    const asleep = "select from pg_stat_activity where pid = $1 and wait_event = 'PgSleep'"
    const isAsleep = async () => (await other.query(asleep, [pids[1]])).rowCount
    await expect.poll(isAsleep).toBe(1)
    connection.silence()
    await untilSilent()
    // The former server's backends ended with it.
    await other.query("select pg_terminate_backend(pid, 5000) from unnest($1::int[]) pid", [pids])
    const overAt = performance.now()
    connection.failOver()
    expect(String(await long)).toContain("PostgreSQL no longer lists it")
    await ended
    expect(performance.now() - overAt).toBeLessThan(30_000)
    expect(isConnectionFault(await failureOf(idle.query("select 1")))).toBe(true)
    idle.release(true)
    busy.release(true)
    expect(await patient.query("select 1")).toMatchObject({ rowCount: 1 })
  })

  it("leaves no caller waiting once the watch stops", async () => {
    const { connection, writeBehind, watch, untilSilent } = await openWatched()
    connection.silence()
    await untilSilent()
    const waiting = failureOf(writeBehind.query("select 1"))
    await watch.stop()
    expect(isConnectionFault(await waiting)).toBe(true)
    expect(await watch.probe()).toBe(true)
  })

  it("and fails over immediately leaves no caller on a connection to the former server, and is not reported", async () => {
    const { connection, owner, writeBehind, watch, changes } = await openWatched({
      ...SHORT,
      statementTimeoutMs: 60_000,
    })
    const before = await idOf(owner)
    const waiting = failureOf(writeBehind.query("select pg_sleep(60)"))
    const patient = await withoutTimeouts(writeBehind).connect()
    const held = failureOf(patient.query("select pg_sleep(60)"))
    connection.silence()
    connection.failOver()
    await watch.probe()
    for (const failure of await Promise.all([waiting, held])) {
      expect(isConnectionFault(failure)).toBe(true)
    }
    patient.release()
    expect(await idOf(owner)).not.toBe(before)
    expect(changes).toEqual([])
  })

  it("is not assumed if a single connection is lost", async () => {
    // A busy machine may take a tenth of a second to connect.
    const { connection, owner, watch, changes } = await openWatched({
      ...SHORT,
      probeIntervalMs: 5_000,
    })
    await owner.query("select 1")
    connection.setOpen(false)
    connection.setOpen(true)
    await expect.poll(() => failureOf(owner.query("select 1"))).toBeNull()
    const reconnectedPid = await idOf(owner)
    expect(await watch.probe()).toBe(true)
    expect(changes).toEqual([])
    // The new connection is not closed.
    expect(await idOf(owner)).toBe(reconnectedPid)
  })
})

describe("the database's clock after an outage", () => {
  it("is sure of the time soon after the database answers", async () => {
    const { connection, watch, untilSilent } = await openWatched({
      ...SHORT,
      probeIntervalMs: 1_000,
    })
    const faults: string[] = []
    let leapMs = 0
    const pacer = { ...machinePacer, elapsedMs: () => machinePacer.elapsedMs() + leapMs }
    const warn = (message: string) => faults.push(message)
    const clock = await openDatabaseClock(watch.probePool, pacer, warn, () => Date.now() + leapMs)
    onTestFinished(() => clock.stop())
    connection.silence()
    await untilSilent()
    leapMs = 61_000
    expect(() => clock.now()).toThrow(ClockUnsure)
    await expect.poll(() => faults.length).toBe(1)
    const answersAt = performance.now()
    connection.failOver()
    const isSure = () => {
      try {
        return clock.now() > 0
      } catch (error) {
        if (error instanceof ClockUnsure) return false
        throw error
      }
    }
    await expect.poll(isSure, { interval: 10 }).toBe(true)
    expect(performance.now() - answersAt).toBeLessThan(20_000)
    // To this machine the database's time has jumped, so a second measurement must confirm it.
    expect(faults).toEqual([
      "the ledger's clock could not be measured",
      "the ledger's clock jumped; writing waits for a second measurement",
    ])
  })
})
