import { describe, expect, it } from "vitest"
import { NewerDatabase, migrateToLatest } from "../../adapters/postgres/migrate.ts"
import { execute } from "../support/postgres.ts"
import { databaseUnderTest } from "./database-under-test.ts"

const database = await databaseUnderTest({ migrated: false })

describe("migrating", () => {
  it("makes everything in an empty database, and nothing the second time", async () => {
    await migrateToLatest(database.url)
    const pool = database.pool()
    const tables = `select table_schema, table_name from information_schema.tables
      where table_schema in ('ledger', 'eventstore', 'read') order by 1, 2`
    const { rows: first } = await pool.query(tables)
    expect(first).toContainEqual({ table_schema: "eventstore", table_name: "events" })
    expect(first).toContainEqual({ table_schema: "ledger", table_name: "work" })
    await migrateToLatest(database.url)
    expect((await pool.query(tables)).rows).toEqual(first)
  })

  it("lets two processes begin at once", async () => {
    await Promise.all([migrateToLatest(database.url), migrateToLatest(database.url)])
    const { rows } = await database.pool().query("select name from ledger.kysely_migration")
    expect(new Set(rows.map(({ name }) => name)).size).toBe(rows.length)
  })

  it.each(["LATIN1", "SQL_ASCII"])(
    "refuses a database in %s, and makes nothing in it",
    async (encoding) => {
      const url = new URL(database.url)
      const name = `in_${encoding.toLowerCase()}`
      await execute(
        database.url,
        `create database ${name} encoding '${encoding}' template template0 locale 'C'`,
      )
      url.pathname = `/${name}`
      await expect(migrateToLatest(url.href)).rejects.toThrow(
        `is in ${encoding}, which does not hold`,
      )
      await expect(execute(url.href, "create schema ledger")).resolves.toBeUndefined()
      await execute(database.url, `drop database ${name}`)
    },
  )

  it("refuses a database of a newer version, and leaves it as it is", async () => {
    await migrateToLatest(database.url)
    const pool = database.pool()
    await pool.query("insert into ledger.kysely_migration values ('9999-of-tomorrow', now())")
    await expect(migrateToLatest(database.url)).rejects.toThrow(NewerDatabase)
    await expect(migrateToLatest(database.url)).rejects.toThrow(/newer version of company-ledger/)
    await pool.query("delete from ledger.kysely_migration where name = '9999-of-tomorrow'")
    await migrateToLatest(database.url)
  })
})
