/** The joint writer: batches of several read models in one transaction. */
import { beforeEach, expect, it } from "vitest"
import { START } from "../../adapters/eventstore/port.ts"
import { withConnection } from "../../adapters/postgres/database.ts"
import type { ReadModelBatch } from "../../adapters/postgres/projector/joint-writer.ts"
import { openJointWriter } from "../../adapters/postgres/projector/joint-writer.ts"
import { databaseUnderTest } from "./database-under-test.ts"

const database = await databaseUnderTest()
const to = { commit: 7n, prepare: 7n }
const lastFact = { stream: "ledger-co_1", revision: 3, id: "an id", position: to }
const pool = database.pool(5)
await pool.query("create table read.joined (name text, xid xid8)")
beforeEach(async () => {
  await pool.query("delete from ledger.projections; delete from read.joined")
  await pool.query(
    `insert into ledger.projections (name, version, commit_position, prepare_position)
     select name, 1, $1, $2 from unnest($3::text[]) as given (name)`,
    [START.commit, START.prepare, ["one", "two", "three"]],
  )
})

const partOf = (name: string, more: Partial<ReadModelBatch> = {}): ReadModelBatch => ({
  name,
  version: 1,
  storedPosition: START,
  lastFact,
  apply: async (client) => {
    await client.query("insert into joined values ($1, pg_current_xact_id())", [name])
  },
  ...more,
})

const written = async () => {
  const { rows } = await pool.query<{ name: string; xid: string }>(
    "select name, xid from read.joined order by name",
  )
  const { rows: moved } = await pool.query<{ name: string }>(
    "select name from ledger.projections where commit_position = $1 order by name",
    [to.commit],
  )
  const xids = new Set(rows.map(({ xid }) => xid)).size
  return { names: rows.map(({ name }) => name), moved: moved.map(({ name }) => name), xids }
}

it("writes the batches of one turn in one transaction, with their positions", async () => {
  const joint = openJointWriter(pool)
  const all = ["one", "two", "three"].map((name) => joint(partOf(name)))
  expect(await Promise.all(all)).toEqual([true, true, true])
  const names = ["one", "three", "two"]
  expect(await written()).toEqual({ names, moved: names, xids: 1 })
})

it("leaves out batches for another position or version", async () => {
  const joint = openJointWriter(pool)
  const all = [
    partOf("one", { storedPosition: { commit: 3n, prepare: 3n } }),
    partOf("two"),
    partOf("three", { version: 2 }),
  ].map(joint)
  expect(await Promise.all(all)).toEqual([false, true, false])
  expect(await written()).toEqual({ names: ["two"], moved: ["two"], xids: 1 })
})

it("does not wait for a locked position", async () => {
  const joint = openJointWriter(pool)
  await withConnection(pool, async (client) => {
    await client.query("begin; select from ledger.projections where name = 'one' for update")
    expect(await Promise.all([joint(partOf("one")), joint(partOf("two"))])).toEqual([false, true])
    await client.query("commit")
  })
  expect(await written()).toEqual({ names: ["two"], moved: ["two"], xids: 1 })
})

it("writes nothing if one batch fails, and continues with the next ones", async () => {
  const joint = openJointWriter(pool)
  const fails = partOf("one", { apply: () => Promise.reject(new Error("no")) })
  expect(await Promise.all([joint(partOf("two")), joint(fails)])).toEqual([false, false])
  expect(await written()).toEqual({ names: [], moved: [], xids: 0 })
  // The broken connection's transaction holds its rows until the server has ended it.
  await pool.query("select from ledger.projections for update")
  expect(await Promise.all([joint(partOf("two")), joint(partOf("three"))])).toEqual([true, true])
  expect((await written()).moved).toEqual(["three", "two"])
})

it("does not write a single batch", async () => {
  expect(await openJointWriter(pool)(partOf("one"))).toBe(false)
  expect(await written()).toEqual({ names: [], moved: [], xids: 0 })
})
