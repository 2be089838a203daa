/** Each test file is in one tier, which allows the resources that the file uses. */
import { globSync } from "node:fs"
import { resolve } from "node:path"
import { expect, it } from "vitest"
import { TIERS, tierFault } from "../support/tiers.ts"

const ROOT = resolve(import.meta.dirname, "../..")
const NOTHING = { worlds: 0, databases: 0, processes: 0, statements: 0, connections: 0 }

it("each test file is in exactly one tier", () => {
  const inTiers = TIERS.flatMap(({ include, exclude }) =>
    globSync([...include], { cwd: ROOT, exclude: [...exclude] }),
  )
  const all = globSync("{test,bench}/**/*.test.ts", { cwd: ROOT, exclude: ["**/node_modules/**"] })
  expect(all.length).toBeGreaterThan(400)
  expect(inTiers.toSorted()).toEqual(all.toSorted())
})

it.for([
  ["a.test.ts", {}, null],
  ["a.test.ts", { statements: 1 }, "a.test.ts opens databases: end its name in .postgres.test.ts"],
  ["a.test.ts", { connections: 1 }, "a.test.ts opens databases: end its name in .postgres.test.ts"],
  ["a.test.ts", { databases: 1 }, "a.test.ts opens databases: end its name in .postgres.test.ts"],
  ["a.test.ts", { processes: 1 }, "a.test.ts starts processes: end its name in .outside.test.ts"],
  ["a.postgres.test.ts", { databases: 2, statements: 9 }, null],
  [
    "a.postgres.test.ts",
    { processes: 1 },
    "a.postgres.test.ts starts processes: end its name in .outside.test.ts",
  ],
  ["a.outside.test.ts", { databases: 1, processes: 4 }, null],
] as const)("%s that uses %o: %s", ([file, used, fault]) => {
  expect(tierFault(file, { ...NOTHING, ...used })).toBe(fault)
})
