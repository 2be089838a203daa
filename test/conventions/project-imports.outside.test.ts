import { expect, it } from "vitest"
import { checkImportRules } from "./import-rules.ts"
import { ROOT, readTree } from "./source-tree.ts"

/** The folders with source code. */
const FOLDERS = ["domain", "projections", "adapters", "src", "test", "bench", "bin", "console"]

// Reading 2,700 files takes seven seconds. `npm run check` also does it, before the tests.
it("the project follows the import rules", async () => {
  const files = readTree(FOLDERS, [".ts", ".tsx", ".mjs", ".css"]).map(({ path }) => path)
  const folders = FOLDERS.filter((folder) => files.some((path) => path.startsWith(`${folder}/`)))
  const { violations, modules } = await checkImportRules(ROOT, folders)
  expect(violations).toEqual([])
  expect(modules.toSorted()).toEqual(files)
})
