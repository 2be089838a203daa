/** Each file of tests is run, and by one group alone. */
import { globSync } from "node:fs"
import { resolve } from "node:path"
import { expect, it } from "vitest"
import { SUITE_GROUPS } from "../support/suite-groups.ts"

const ROOT = resolve(import.meta.dirname, "../..")

it("has each file of tests in one of its groups", () => {
  const run = SUITE_GROUPS.flatMap(({ include, exclude }) =>
    globSync([...include], { cwd: ROOT, exclude: [...exclude] }),
  )
  const all = globSync("{test,bench}/**/*.test.ts", { cwd: ROOT, exclude: ["**/node_modules/**"] })
  expect(all.length).toBeGreaterThan(400)
  expect(run.toSorted()).toEqual(all.toSorted())
})
