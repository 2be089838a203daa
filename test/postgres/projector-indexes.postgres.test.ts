/** Indexes that only lists use are made once all was folded. */
import { expect, it } from "vitest"
import { bigint, forLists, madeOf, table, text } from "../../projections/kernel/table.ts"
import type { Projection } from "../../projections/kernel/projection.ts"
import { ProjectorUnderTest, readModelDatabase, sums, verified } from "./projector-fixture.ts"

const { pool } = await readModelDatabase()

const COLUMNS = { company_id: text(), sum: bigint(), facts: bigint() }
const SPENT: Projection = {
  ...sums({ name: "spent", category: "spending" }),
  ...madeOf(table("spent", COLUMNS, ["company_id"], "(facts)", forLists("(sum) where sum > 0"))),
}
const AT_ONCE = ["spent_facts_idx", "spent_pkey"]
const ALL = [...AT_ONCE, "spent_sum"]

async function indexes(schema: string): Promise<readonly string[]> {
  const { rows } = await pool.query<{ indexname: string }>(
    "select indexname from pg_indexes where schemaname = $1 order by indexname",
    [schema],
  )
  return rows.map(({ indexname }) => indexname)
}

/** A read model that says which indexes there are whenever it folds. */
function seeing(schema: string) {
  const seen: (readonly string[])[] = []
  const projection: Projection = {
    ...SPENT,
    apply: async (tx, facts, opener) => {
      await SPENT.apply(tx, facts, opener)
      seen.push(await indexes(schema))
    },
  }
  return { seen, projection }
}

it("are there once a read model has caught up, and not before", async () => {
  const test = new ProjectorUnderTest(pool)
  await test.add("spending-co_a", 1, 2)
  const { seen, projection } = seeing("read")
  const projector = await test.start([projection])
  expect(await test.shown(projector)).toBe(true)
  expect(seen[0]).toEqual(AT_ONCE)
  expect(await indexes("read")).toEqual(ALL)
  await test.add("spending-co_a", 3)
  expect(await test.shown(projector)).toBe(true)
  expect(await test.rows("spent")).toEqual([{ company_id: "co_a", sum: 6, facts: 3 }])
})

it("are made by the next process where one died before them", async () => {
  const test = new ProjectorUnderTest(pool)
  await test.add("spending-co_a", 1)
  const first = await test.start([SPENT])
  await test.shown(first)
  await first.close()
  await pool.query("drop index read.spent_sum")
  const next = await test.start([SPENT])
  expect(await test.shown(next)).toBe(true)
  expect(await indexes("read")).toEqual(ALL)
})

it("come with a table that was built anew beside, made behind its rows", async () => {
  const test = new ProjectorUnderTest(pool)
  await test.add("spending-co_a", 1, 2)
  const { seen, projection } = seeing("beside_spent")
  const projector = await test.start([projection])
  await test.shown(projector)
  seen.length = 0
  await projector.rebuild("spent", () => undefined)
  expect(seen[0]).toEqual(AT_ONCE)
  expect(await indexes("read")).toEqual(ALL)
  expect((await verified(projector))?.same).toBe(true)
  expect(await indexes("read")).toEqual(ALL)
})
