/** A database that does not answer: who waits for it how long, and what becomes of the connections. */
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

/** A watched way to the database that can be silenced, and pools over it. */
async function openWatched(waits: DatabaseTimeouts = SHORT) {
  const way = await cuttableConnection(database.url)
  const told: string[] = []
  const sinces: number[] = []
  const watch = watchDatabase(
    way.url,
    {
      onUnavailable: (since) => void sinces.push(since, told.push("silent")),
      onAvailable: (since) => void sinces.push(since, told.push("answers")),
    },
    waits,
  )
  onTestFinished(() => watch.stop())
  const opened = <P extends { end: () => Promise<void> }>(pool: P): P => {
    onTestFinished(() => pool.end())
    return pool
  }
  const nobody = () => undefined
  const isSilent = () => watch.unavailableSince() !== null
  return {
    way,
    told,
    sinces,
    watch,
    owner: opened(openPool(way.url, 2, nobody, watch)),
    behind: opened(openWriteBehindPool(way.url, 2, nobody, watch)),
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
  it("ends with its connection, whichever way it was asked, and the next one is served", async () => {
    const { owner } = await openWatched()
    const before = await idOf(owner)
    expect(isConnectionFault(await failureOf(owner.query("select pg_sleep(60)")))).toBe(true)
    expect(await idOf(owner)).not.toBe(before)
    const db = kyselyOf<unknown>(owner)
    const asked = [1, 2, 3, 4].map(() => failureOf(sql`select pg_sleep(60)`.execute(db)))
    for (const failure of await Promise.all(asked)) expect(isConnectionFault(failure)).toBe(true)
    const client = await owner.connect()
    expect(isConnectionFault(await failureOf(client.query("select pg_sleep(60)")))).toBe(true)
    client.release()
    expect(await owner.query("select 1")).toMatchObject({ rowCount: 1 })
  })

  it("takes as long as it does where somebody has the patience, and is back to usual after", async () => {
    const { owner } = await openWatched()
    const patient = withoutTimeouts(owner)
    expect(await patient.query("select pg_sleep(0.6)")).toMatchObject({ rowCount: 1 })
    const client = await patient.connect()
    expect(await client.query("select pg_sleep(0.6)")).toMatchObject({ rowCount: 1 })
    client.release()
    expect(await failureOf(owner.query("select pg_sleep(60)"))).not.toBeNull()
    expect(await failureOf(patient.query("select 1 / 0"))).toMatchObject({ code: "22012" })
  })

  it("that waits behind a lock does nothing once nobody waits for it: a claim is not let go", async () => {
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

describe("a pool for what is written behind", () => {
  it("has whoever finds no connection free wait in line, however long that takes", async () => {
    const { behind, told } = await openWatched()
    const held = [await behind.connect(), await behind.connect()]
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] })
    onTestFinished(() => void vi.useRealTimers())
    const waiting = [1, 2, 3].map(
      async (one) => (await behind.query("select $1::int as one", [one])).rows,
    )
    // Making a connection may take five seconds.
    await vi.advanceTimersByTimeAsync(60_000)
    vi.useRealTimers()
    for (const client of held) client.release()
    expect(await Promise.all(waiting)).toEqual([[{ one: 1 }], [{ one: 2 }], [{ one: 3 }]])
    // Whoever fails leaves its place too.
    const faults = [1, 2, 3].map(() => failureOf(behind.query("no statement")))
    expect((await Promise.all(faults)).every((fault) => fault instanceof Error)).toBe(true)
    expect((await behind.query("select 1 as one")).rows).toEqual([{ one: 1 }])
    expect(told).toEqual([])
  })
})

describe("a database that falls silent", () => {
  it("is told of once, and once when it answers again, with the time of its last answer", async () => {
    const { way, told, sinces, untilSilent, untilAnswer, owner } = await openWatched()
    await owner.query("select 1")
    const beganAt = Date.now()
    way.silence()
    await untilSilent()
    const refused = await Promise.all([1, 2, 3].map(() => failureOf(owner.query("select 1"))))
    for (const failure of refused) {
      expect(String(failure)).toContain(new Date(sinces[0] ?? 0).toISOString())
      expect(isConnectionFault(failure)).toBe(true)
    }
    expect(told).toEqual(["silent"])
    way.thaw()
    await untilAnswer()
    expect(told).toEqual(["silent", "answers"])
    expect(sinces[0]).toBe(sinces[2])
    expect(Math.abs((sinces[0] ?? 0) - beganAt)).toBeLessThan(scaledMs(2_000))
    expect(await owner.query("select 1")).toMatchObject({ rowCount: 1 })
  })

  it("makes what is written behind wait, and serves it once it answers", async () => {
    const { way, behind, untilSilent } = await openWatched()
    way.silence()
    await untilSilent()
    const waiting = behind.query("select 1")
    way.failOver()
    expect(await waiting).toMatchObject({ rowCount: 1 })
  })

  it("and is another one then keeps nobody on a connection to the first", async () => {
    const { way, owner, behind, untilSilent, untilAnswer } = await openWatched()
    await Promise.all([owner.query("select 1"), owner.query("select 1"), behind.query("select 1")])
    // Outstanding for as long as what is written behind may take.
    const outstanding = failureOf(behind.query("select pg_sleep(60)"))
    way.silence()
    await untilSilent()
    way.failOver()
    await untilAnswer()
    expect(await owner.query("select 1")).toMatchObject({ rowCount: 1 })
    expect(isConnectionFault(await outstanding)).toBe(true)
    expect(await behind.query("select 1")).toMatchObject({ rowCount: 1 })
  })

  it("lets whoever is patient keep what goes on when it thaws", async () => {
    const { way, owner, untilSilent, untilAnswer } = await openWatched()
    // One that is only being made when the silence begins is given up, and rightly.
    const patient = await withoutTimeouts(owner).connect()
    const long = patient.query("select pg_sleep(1) as slept")
    way.silence()
    await untilSilent()
    way.thaw()
    await untilAnswer()
    expect(await long).toMatchObject({ rowCount: 1 })
    patient.release()
  })

  it("and is another one then keeps nobody, however patient, on what it does not know", async () => {
    const { way, owner, untilSilent } = await openWatched()
    const other = database.pool()
    const patient = withoutTimeouts(owner)
    const [idle, busy] = [await patient.connect(), await patient.connect()]
    const pids = [await idOf(idle), await idOf(busy)]
    const ended = new Promise((resolve) => idle.once("end", resolve))
    const long = failureOf(busy.query("select pg_sleep(60)"))
    const asleep = "select from pg_stat_activity where pid = $1 and wait_event = 'PgSleep'"
    const isAsleep = async () => (await other.query(asleep, [pids[1]])).rowCount
    await expect.poll(isAsleep).toBe(1)
    way.silence()
    await untilSilent()
    // What the first server did ended with it.
    await other.query("select pg_terminate_backend(pid, 5000) from unnest($1::int[]) pid", [pids])
    const overAt = performance.now()
    way.failOver()
    expect(String(await long)).toContain("PostgreSQL no longer lists it")
    await ended
    expect(performance.now() - overAt).toBeLessThan(30_000)
    expect(isConnectionFault(await failureOf(idle.query("select 1")))).toBe(true)
    idle.release(true)
    busy.release(true)
    expect(await patient.query("select 1")).toMatchObject({ rowCount: 1 })
  })

  it("keeps nobody waiting once it is not watched any more", async () => {
    const { way, behind, watch, untilSilent } = await openWatched()
    way.silence()
    await untilSilent()
    const waiting = failureOf(behind.query("select 1"))
    await watch.stop()
    expect(isConnectionFault(await waiting)).toBe(true)
    expect(await watch.probe()).toBe(true)
  })

  it("and is another one at once keeps nobody on a connection to the first, and is not told of", async () => {
    const { way, owner, behind, watch, told } = await openWatched({
      ...SHORT,
      statementTimeoutMs: 60_000,
    })
    const before = await idOf(owner)
    const waiting = failureOf(behind.query("select pg_sleep(60)"))
    const patient = await withoutTimeouts(behind).connect()
    const held = failureOf(patient.query("select pg_sleep(60)"))
    way.silence()
    way.failOver()
    await watch.probe()
    for (const failure of await Promise.all([waiting, held])) {
      expect(isConnectionFault(failure)).toBe(true)
    }
    patient.release()
    expect(await idOf(owner)).not.toBe(before)
    expect(told).toEqual([])
  })

  it("is no connection that was lost for reasons of its own", async () => {
    // A machine with other work may well take a tenth of a second to connect.
    const { way, owner, watch, told } = await openWatched({ ...SHORT, probeIntervalMs: 5_000 })
    await owner.query("select 1")
    way.setOpen(false)
    way.setOpen(true)
    await expect.poll(() => failureOf(owner.query("select 1"))).toBeNull()
    const anew = await idOf(owner)
    expect(await watch.probe()).toBe(true)
    expect(told).toEqual([])
    // What was connected anew meanwhile is left alone.
    expect(await idOf(owner)).toBe(anew)
  })
})

describe("the database's clock after a silence", () => {
  it("knows the time soon after the database's answer", async () => {
    const { way, watch, untilSilent } = await openWatched({ ...SHORT, probeIntervalMs: 1_000 })
    const faults: string[] = []
    let leapMs = 0
    const pacer = { ...machinePacer, elapsedMs: () => machinePacer.elapsedMs() + leapMs }
    const tell = (message: string) => faults.push(message)
    const clock = await openDatabaseClock(watch.probePool, pacer, tell, () => Date.now() + leapMs)
    onTestFinished(() => clock.stop())
    way.silence()
    await untilSilent()
    leapMs = 61_000
    expect(() => clock.now()).toThrow(ClockUnsure)
    await expect.poll(() => faults.length).toBe(1)
    const answersAt = performance.now()
    way.failOver()
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
    // To this machine the database's time has leapt: it is believed the second time.
    expect(faults).toEqual([
      "the ledger's clock could not be measured",
      "the ledger's clock jumped; writing waits for a second measurement",
    ])
  })
})
