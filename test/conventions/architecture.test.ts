/** The documents that comments and `docs/architecture.md` name, and its files and folders, exist. */
import { existsSync, readFileSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { expect, it } from "vitest"
import { readTree, ROOT } from "./source-tree.ts"

const [map = "", walks = ""] = readFileSync(join(ROOT, "docs/architecture.md"), "utf8").split(
  "## Eight walks",
)

/** The top folders of the project, with a slash. */
const TOP = readdirSync(ROOT, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => `${name}/`)

/** The paths in backticks that begin with a top folder and have no placeholder. */
const pathsIn = (text: string): readonly string[] =>
  [...text.matchAll(/`([\w.-]+\/[\w./-]*)`/g)]
    .map(([, path = ""]) => path)
    .filter((path) => TOP.some((folder) => path.startsWith(folder)))

it.each([
  ["the map", map, 20],
  ["the walks", walks, 40],
])("%s names existing files and folders", (_name, text, least) => {
  const paths = pathsIn(text)
  expect(paths.length).toBeGreaterThan(least)
  expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
})

it("each walk names a file once", () => {
  const each = walks.split("\n### ").slice(1)
  expect(each).toHaveLength(8)
  for (const walk of each) {
    const paths = pathsIn(walk)
    expect(paths).toEqual([...new Set(paths)])
  }
})

it("documents that comments cite exist", () => {
  const cited = readTree(
    ["domain", "projections", "adapters", "src", "console", "test"],
    [".ts", ".tsx"],
  )
    .filter(({ path }) => !/^test\/(conventions|operator\/bundle)/.test(path))
    .flatMap(({ path, text }) =>
      [...text.matchAll(/\bdocs\/[\w/-]+\.md\b/g)].map(([document]) => ({ path, document })),
    )
  expect(cited.length).toBeGreaterThan(50)
  expect(cited.filter(({ document }) => !existsSync(join(ROOT, document)))).toEqual([])
})
