import { expect, it } from "vitest"
import { howMany } from "../../src/compose/processes/how-many.ts"

it.each([
  [1, 1, 1],
  [2, 1, 2],
  [3, 1, 3],
  [8, 4, 8],
])("of %d cores PostgreSQL has half where it is the program's own", (cores, own, elsewhere) => {
  expect(howMany(cores, { databaseUrl: null })).toBe(own)
  expect(howMany(cores, { databaseUrl: "postgres://db.test/ledger" })).toBe(elsewhere)
})
