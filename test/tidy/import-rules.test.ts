import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { CONSOLE_CASES } from "./console-import-cases.ts"
import { CASES as OTHERS } from "./import-cases.ts"
import { checkImports } from "./import-rules.ts"
import { ROOT, readTree } from "./tree.ts"

const CASES = [...OTHERS, ...CONSOLE_CASES]

/** The rooms of the house, as far as they are built. */
const ROOMS = ["domain", "projections", "adapters", "src", "test", "bench", "bin", "console"]

/** The first file of a small tree, in one line. */
const firstOf = (files: Readonly<Record<string, string>>): string =>
  (Object.entries(files)[0] ?? []).join(": ").replaceAll("\n", "; ")

/** Packages that the small trees import, as what package.json calls them. */
const packages = {
  dependencies: { kysely: "1", pg: "1", fastify: "1", "@eventstore/db-client": "1" },
  devDependencies: { "fast-check": "1" },
}

describe("each import rule", () => {
  let folder = ""

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "import-rules-"))
    write("package.json", JSON.stringify({ type: "module", ...packages }))
    for (const name of Object.values(packages).flatMap((part) => Object.keys(part))) {
      write(`node_modules/${name}/package.json`, JSON.stringify({ name, main: "index.js" }))
      write(`node_modules/${name}/index.js`, "")
    }
  })

  afterEach(() => rmSync(folder, { recursive: true }))

  function write(path: string, text: string): void {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }

  async function brokenBy(files: Readonly<Record<string, string>>): Promise<readonly string[]> {
    for (const [path, text] of Object.entries(files)) write(path, text)
    const rooms = new Set(Object.keys(files).map((path) => path.split("/")[0] ?? ""))
    const { violations } = await checkImports(folder, [...rooms])
    return violations.map((violation) => violation.split(":")[0] ?? "")
  }

  for (const { rule, wrong, right } of CASES) {
    it(`${rule}: fires on ${firstOf(wrong)}`, async () => {
      expect(await brokenBy(wrong)).toContain(rule)
    })

    it(`${rule}: is quiet on ${firstOf(right)}`, async () => {
      expect(await brokenBy(right)).not.toContain(rule)
    })
  }

  it("has a case here", () => {
    const config = createRequire(import.meta.url)("../../.dependency-cruiser.cjs") as {
      readonly forbidden: readonly { readonly name: string }[]
    }
    const names = new Set(CASES.map(({ rule }) => rule))
    expect(config.forbidden.map(({ name }) => name).filter((name) => !names.has(name))).toEqual([])
  })
})

describe("the house", () => {
  const files = readTree(ROOMS, [".ts", ".tsx", ".mjs", ".css"]).map(({ path }) => path)

  it("keeps the import rules, and every file was read", async () => {
    const rooms = ROOMS.filter((room) => files.some((path) => path.startsWith(`${room}/`)))
    const { violations, modules } = await checkImports(ROOT, rooms)
    expect(violations).toEqual([])
    expect(modules.toSorted()).toEqual(files)
  })
})
