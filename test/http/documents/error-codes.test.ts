/** The page about the API names every error code that a route answers with. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it } from "vitest"
import { PROGRAM } from "../../../src/slices.ts"
import { ROOT } from "../../tidy/tree.ts"

const page = readFileSync(join(ROOT, "docs/api.md"), "utf8")
const codes = PROGRAM.routes.flatMap(({ refuses = [] }) =>
  refuses.map((one) => (typeof one === "string" ? one : one.error)),
)

it("names every code", () => {
  const named = new Set([...page.matchAll(/`([a-z_]+)`/g)].map(([, code]) => code))
  expect([...new Set(codes)].filter((code) => !named.has(code))).toEqual([])
  expect(codes).toContain("too_many_boxes")
})
