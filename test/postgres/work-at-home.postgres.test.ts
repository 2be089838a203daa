/** Work of companies that are at home in one of several processes of a machine. */
import { expect, it } from "vitest"
import { companyIdOfTag } from "../../domain/kernel/ids.ts"
import { homeInSql, homeOf } from "../../adapters/postgres/homes.ts"
import { openPostgresWork } from "../../adapters/work/postgres.ts"
import { databaseUnderTest } from "./database-under-test.ts"

const NOW = 1_800_000_000_000
const TAGS = Array.from({ length: 300 }, (_, i) => `Tag${String(i).padStart(3, "0")}`)

const pool = (await databaseUnderTest()).pool()

const seated = (number: number, of: number) =>
  openPostgresWork(pool, { own: `prc_${number}`, isAlive: async () => true }, { number, of })

it("is reckoned by PostgreSQL as by whoever hands over connections", async () => {
  const ids = TAGS.map(companyIdOfTag)
  for (const count of [1, 2, 3, 7]) {
    const { rows } = await pool.query<{ home: number }>(
      `select (${homeInSql("id", "$2::int")})::int as home from unnest($1::text[]) as given (id)`,
      [ids, count],
    )
    expect(rows.map(({ home }) => home)).toEqual(TAGS.map((tag) => homeOf(tag, count)))
  }
})

async function addWork(name: string, tag: string | null, dueAt: number): Promise<void> {
  await pool.query(
    `insert into ledger.work (kind, name, subject, company_id, payload, due_at)
     values ('any', $1, $1, $2, '{}', to_timestamp($3::float8 / 1000))`,
    [name, tag === null ? null : companyIdOfTag(tag), dueAt],
  )
}

it("is taken at home; what is left there for long, and what is of no company, by anybody", async () => {
  const [atOne, atTwo] = [1, 2].map((home) => TAGS.find((tag) => homeOf(tag, 2) === home)) as [
    string,
    string,
  ]
  await addWork("one", atOne, NOW)
  await addWork("two", atTwo, NOW)
  await addWork("two late", atTwo, NOW - 2_001)
  await addWork("nobody", null, NOW)
  const names = (rows: readonly { readonly name: string }[]) => rows.map(({ name }) => name).sort()
  expect(names(await seated(1, 2).take(NOW, 10))).toEqual(["nobody", "one", "two late"])
  expect(names(await seated(2, 2).take(NOW, 10))).toEqual(["two"])
  await addWork("alone", atTwo, NOW)
  expect(names(await seated(1, 1).take(NOW, 10))).toEqual(["alone"])
})
