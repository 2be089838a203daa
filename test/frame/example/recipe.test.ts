/** The example slice follows the recipe of a paid operation in `CONTRIBUTING.md`. */
import { existsSync, readFileSync, readdirSync } from "node:fs"
import { basename, join } from "node:path"
import { expect, it } from "vitest"
import { codeLines } from "../../conventions/code-lines.ts"
import { ROOT } from "../../conventions/source-tree.ts"
import { THING } from "./thing.ts"

/** The maximum size of a paid `POST` with a new fact. */
const MAX_FILES = 12
const MAX_LINES = 450

const HERE = import.meta.dirname

/** Values of the placeholders in the recipe's paths. */
const NAMES: Readonly<Record<string, readonly string[]>> = {
  slice: ["things"],
  category: [THING.category],
  resource: ["thing"],
  resources: ["things"],
  things: ["things"],
  verb: ["order"],
  Fact: THING.codec.types,
}

/** Edited lines in each file that slices share. */
const EDITS: Readonly<Record<string, number>> = {
  "domain/charging/items.ts": 1,
  "test/charging/items.test.ts": 1,
  "test/kernel/stored-state.test.ts": 12,
  "src/slices.ts": 2,
  "test/api/five-concurrent-requests.outside.test.ts": 10,
}

const text = readFileSync(join(ROOT, "CONTRIBUTING.md"), "utf8")
const [, recipe = ""] = text.split("## Adding a paid operation\n")
const [steps = ""] = recipe.split("\n## ")

/** The paths in the recipe without placeholders. Steps edit the paths that are followed by a colon. */
const pathsBefore = (mark: string): readonly string[] =>
  [...steps.matchAll(new RegExp(`\`([\\w<>.-]+/[\\w<>./-]+)\`${mark}`, "g"))].flatMap(
    ([, path = ""]) => filled(path),
  )

/** All paths that result from a path's placeholders. */
function filled(path: string): readonly string[] {
  const [placeholder, name = ""] = /<(\w+)>/.exec(path) ?? []
  if (placeholder === undefined) return [path]
  return (NAMES[name] ?? []).flatMap((one) => filled(path.replace(placeholder, one)))
}

const touched = pathsBefore(":")
const shared = touched.filter((path) => path in EDITS)
const own = touched.filter((path) => !(path in EDITS))

/** The example slice's file for a path. */
const exampleFile = (path: string): string =>
  path.startsWith("test/golden/") ? join("golden", basename(path)) : basename(path)

const linesOf = (name: string): number =>
  codeLines(name, readFileSync(join(HERE, name), "utf8"))?.length ?? 0

it("the recipe names the shared files that it edits", () => {
  expect(shared.toSorted()).toEqual(Object.keys(EDITS).toSorted())
  expect(shared.filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
})

it("the recipe names exactly the files of the example slice, including those of its GET", () => {
  const named = pathsBefore("").filter((path) => !existsSync(join(ROOT, path)))
  const files = readdirSync(HERE, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name !== "recipe.test.ts")
    .map(({ parentPath, name }) => (parentPath === HERE ? name : join(basename(parentPath), name)))
  expect(named.map(exampleFile).toSorted()).toEqual(files.toSorted())
})

it("a paid POST with a new fact stays below the recipe's limits of files and lines", () => {
  const edited = shared.reduce((sum, path) => sum + (EDITS[path] ?? 0), 0)
  const lines = own.reduce((sum, path) => sum + linesOf(exampleFile(path)), edited)
  expect(touched.length).toBeLessThanOrEqual(MAX_FILES)
  expect(lines).toBeLessThanOrEqual(MAX_LINES)
  expect(steps.replaceAll(/\s+/g, " ")).toContain(
    `at most ${MAX_FILES} files and ${MAX_LINES} lines`,
  )
})

it("the recipe lists the builders in the order of the route's file", () => {
  const builders = [...steps.matchAll(/`(\w+)\(\{…\}\)`/g)].map(([, name]) => name)
  const source = readFileSync(join(HERE, "order-thing.ts"), "utf8")
  const called = [...source.matchAll(/= (\w+)\(\{$/gm)].map(([, name]) => name)
  expect(called).toEqual(builders)
})

it.each(THING.codec.types)("the golden file of %s matches its codec", (type) => {
  const stored = readFileSync(join(HERE, "golden", `${type}.v1.json`), "utf8").trimEnd()
  const fact = THING.codec.decode(type, THING.codec.version(type), stored)
  expect(THING.codec.encode(fact)).toBe(stored)
})
