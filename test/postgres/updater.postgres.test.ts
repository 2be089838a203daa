/** Read model updaters at moments between two processes that a test must control. */
import { describe, expect, it, onTestFinished } from "vitest"
import { machinePacer } from "../../adapters/machine/clock/database-clock.ts"
import type { Pacer } from "../../adapters/machine/clock/port.ts"
import type { StoredEvent } from "../../adapters/eventstore/port.ts"
import { START } from "../../adapters/eventstore/port.ts"
import {
  PRERELEASE_MIGRATION,
  NewerDatabase,
  OlderDatabase,
  migrateToLatest,
} from "../../adapters/postgres/migrate.ts"
import { BatchTicker, ReadModelUpdater } from "../../adapters/postgres/projector/updater.ts"
import type { Projection } from "../../projections/kernel/projection.ts"
import { executeSql } from "../support/test-database.ts"
import { databaseUnderTest } from "./database-under-test.ts"
import {
  ProjectorUnderTest,
  decodeFixtureEvent,
  readModelDatabase,
  sumReadModel,
} from "./projector-fixture.ts"

const { pool } = await readModelDatabase()

interface Opening {
  readonly pacer?: Pacer
  readonly beatMs?: number
}

/** A pacer whose time a test sets; its pauses end only when they are aborted. */
function manualPacer() {
  const time = { ms: 0 }
  const pauses: number[] = []
  const paused = Promise.withResolvers<void>()
  const pacer: Pacer = {
    elapsedMs: () => time.ms,
    pause: async (ms, signal) => {
      pauses.push(ms)
      paused.resolve()
      await new Promise<void>((resolve) => signal?.addEventListener("abort", () => resolve()))
    },
  }
  return { pacer, time, pauses, paused: paused.promise }
}

/** A read model with its table; `open` opens an updater of it as each process does. */
async function updaterFixture(projection: Projection) {
  const test = new ProjectorUnderTest(pool)
  const projector = await test.start([projection])
  await projector.close()
  const open = ({ pacer = machinePacer, beatMs = 100 }: Opening = {}): ReadModelUpdater => {
    const updater = new ReadModelUpdater(
      {
        pool,
        store: test.store,
        pacer,
        batchTicker: new BatchTicker(pacer, beatMs),
        decode: decodeFixtureEvent,
        opener: { unseal: async (_company, sealed) => sealed },
        warn: (message, error) => expect.unreachable(`${message}: ${String(error)}`),
        onApplied: () => undefined,
      },
      projection,
      START,
    )
    onTestFinished(() => updater.close())
    return updater
  }
  const events = async (): Promise<readonly StoredEvent[]> => {
    const all: StoredEvent[] = []
    for await (const page of test.store.readAll()) all.push(...page)
    return all
  }
  const written = async (updater: ReadModelUpdater) =>
    updater.waiters.add(await test.store.head()).done
  return { test, open, events, written }
}

describe("an updater that takes over", () => {
  it("does not write facts again that its reader delivers after they were written", async () => {
    const { test, open, events, written } = await updaterFixture(
      sumReadModel({ name: "spent", category: "spending" }),
    )
    const [one, two] = [open(), open()]
    await test.appendAmounts("spending-co_a", 1, 10)
    one.activate()
    one.deliver(await events())
    expect(await written(one)).toBe(true)
    one.deactivate()
    two.activate()
    await two.waitForRoom(0)
    await expect.poll(() => two.hasWritten({ commit: 1n, prepare: 1n })).toBe(true)
    two.deliver(await events())
    await test.appendAmounts("spending-co_a", 100)
    two.deliver((await events()).slice(-1))
    expect(await written(two)).toBe(true)
    expect(await test.rows("spent")).toEqual([{ company_id: "co_a", sum: 111, facts: 3 }])
  })

  it("reads facts that were delivered while it had released its lease during a batch", async () => {
    const begun = Promise.withResolvers<void>()
    const gate = Promise.withResolvers<void>()
    const { test, open, events, written } = await updaterFixture(
      sumReadModel({
        name: "spent",
        category: "spending",
        afterApply: () => {
          begun.resolve()
          return gate.promise
        },
      }),
    )
    const updater = open()
    await test.appendAmounts("spending-co_a", 1)
    updater.deliver(await events())
    updater.activate()
    await begun.promise
    updater.deactivate()
    await test.appendAmounts("spending-co_a", 10)
    updater.deliver((await events()).slice(-1))
    updater.activate()
    gate.resolve()
    expect(await written(updater)).toBe(true)
    expect(await test.rows("spent")).toEqual([{ company_id: "co_a", sum: 11, facts: 2 }])
  })
})

describe("an updater between two batches", () => {
  const spent = sumReadModel({ name: "spent", category: "spending" })

  /** An updater that has just written one fact and received another. */
  async function withOneMore(opening: Opening) {
    const { test, open, events, written } = await updaterFixture(spent)
    const updater = open(opening)
    updater.activate()
    await test.appendAmounts("spending-co_a", 1)
    updater.deliver(await events())
    expect(await written(updater)).toBe(true)
    await test.appendAmounts("spending-co_a", 10)
    updater.deliver((await events()).slice(-1))
    return { test, updater, events, written }
  }

  it("collects facts until a caller waits for them", async () => {
    const { pacer, time, pauses, paused } = manualPacer()
    const { test, updater, events, written } = await withOneMore({ pacer })
    await paused
    await test.appendAmounts("spending-co_a", 100)
    time.ms = 70
    updater.deliver((await events()).slice(-1))
    time.ms = 90
    expect(updater.backlog).toEqual({ facts: 2, ms: 90 })
    expect(await written(updater)).toBe(true)
    expect(updater.backlog).toEqual({ facts: 0, ms: 0 })
    expect(pauses).toEqual([100])
    expect(await test.rows("spent")).toEqual([{ company_id: "co_a", sum: 111, facts: 3 }])
  })

  it("collects at most a full batch", async () => {
    const { pacer, pauses, paused } = manualPacer()
    const { test, updater, events } = await withOneMore({ pacer })
    await paused
    await test.appendAmounts("spending-co_a", ...Array.from({ length: 999 }, () => 1))
    updater.deliver((await events()).slice(2))
    await updater.waitForRoom(0)
    expect(pauses).toEqual([100])
    expect(await test.rows("spent")).toEqual([{ company_id: "co_a", sum: 1_010, facts: 1_001 }])
  })

  it("writes the collected facts at the first tick after the last batch", async () => {
    const { test, updater, events } = await withOneMore({ beatMs: 20 })
    await updater.waitForRoom(0)
    expect(await test.rows("spent")).toEqual([{ company_id: "co_a", sum: 11, facts: 2 }])
    await test.appendAmounts("spending-co_a", 100)
    updater.deliver((await events()).slice(-1))
    await updater.waitForRoom(0)
    expect(await test.rows("spent")).toEqual([{ company_id: "co_a", sum: 111, facts: 3 }])
  })

  it("writes the waiting facts when it is closed", async () => {
    const { pacer, paused } = manualPacer()
    const { test, updater } = await withOneMore({ pacer })
    await paused
    await updater.close()
    expect(await test.rows("spent")).toEqual([{ company_id: "co_a", sum: 11, facts: 2 }])
  })
})

const database = await databaseUnderTest({ migrated: false })

describe("a migration", () => {
  it("creates everything in an empty database, and nothing the second time", async () => {
    await migrateToLatest(database.url)
    const owner = database.pool()
    const tables = `select table_schema, table_name from information_schema.tables
      where table_schema in ('ledger', 'eventstore', 'read') order by 1, 2`
    const { rows: first } = await owner.query(tables)
    expect(first).toContainEqual({ table_schema: "eventstore", table_name: "events" })
    expect(first).toContainEqual({ table_schema: "ledger", table_name: "jobs" })
    await migrateToLatest(database.url)
    expect((await owner.query(tables)).rows).toEqual(first)
  })

  it("can run in two processes concurrently", async () => {
    await Promise.all([migrateToLatest(database.url), migrateToLatest(database.url)])
    const { rows } = await database.pool().query("select name from ledger.kysely_migration")
    expect(new Set(rows.map(({ name }) => name)).size).toBe(rows.length)
  })

  it.each(["LATIN1", "SQL_ASCII"])(
    "rejects a database in %s, and creates nothing in it",
    async (encoding) => {
      const url = new URL(database.url)
      const name = `in_${encoding.toLowerCase()}`
      await executeSql(
        database.url,
        `create database ${name} encoding '${encoding}' template template0 locale 'C'`,
      )
      url.pathname = `/${name}`
      await expect(migrateToLatest(url.href)).rejects.toThrow(
        `uses the encoding ${encoding}, which cannot store`,
      )
      await expect(executeSql(url.href, "create schema ledger")).resolves.toBeUndefined()
      await executeSql(database.url, `drop database ${name}`)
    },
  )

  it("rejects a database of a newer version, and does not change it", async () => {
    await migrateToLatest(database.url)
    const owner = database.pool()
    await owner.query("insert into ledger.kysely_migration values ('9999-of-tomorrow', now())")
    await expect(migrateToLatest(database.url)).rejects.toThrow(NewerDatabase)
    await expect(migrateToLatest(database.url)).rejects.toThrow(/newer version of company-ledger/)
    await owner.query("delete from ledger.kysely_migration where name = '9999-of-tomorrow'")
    await migrateToLatest(database.url)
  })

  it("rejects a database from before the first release, and does not change it", async () => {
    await migrateToLatest(database.url)
    const owner = database.pool()
    const rename = (from: string, to: string) =>
      owner.query("update ledger.kysely_migration set name = $2 where name = $1", [from, to])
    await rename("0001-first-form", PRERELEASE_MIGRATION)
    await expect(migrateToLatest(database.url)).rejects.toThrow(OlderDatabase)
    await expect(migrateToLatest(database.url)).rejects.toThrow(/before the first release/)
    await rename(PRERELEASE_MIGRATION, "0001-first-form")
    await migrateToLatest(database.url)
  })
})
