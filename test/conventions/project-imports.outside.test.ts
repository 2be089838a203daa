import { expect, it } from "vitest"
import { checkImportRules } from "./import-rules.ts"
import { ROOT, readTree } from "./source-tree.ts"

/** The rooms of the project, as far as they are built. */
const ROOMS = ["domain", "projections", "adapters", "src", "test", "bench", "bin", "console"]

// Reading 2,700 files takes seven seconds: `npm run check` does it too, before the tests.
it("keeps the import rules, and every file was read", async () => {
  const files = readTree(ROOMS, [".ts", ".tsx", ".mjs", ".css"]).map(({ path }) => path)
  const rooms = ROOMS.filter((room) => files.some((path) => path.startsWith(`${room}/`)))
  const { violations, modules } = await checkImportRules(ROOT, rooms)
  expect(violations).toEqual([])
  expect(modules.toSorted()).toEqual(files)
})
