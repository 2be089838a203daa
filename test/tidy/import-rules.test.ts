/** Each import rule fires on a small tree. `house-imports.outside.test.ts` holds the rules against the project. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { basename, dirname, join, relative } from "node:path"
import { afterAll, describe, expect, it } from "vitest"
import { IMPORTS } from "./import-cases.ts"
import { checkImports } from "./import-rules.ts"

/** A line of the table: whether a rule forbids that the first file imports the second, and that the third. */
interface Row {
  readonly rule: string
  readonly line: string
  readonly isForbidden: boolean
  readonly files: readonly string[]
  readonly words: string
}

const WORDS: Readonly<Record<string, string>> = {
  "": "import",
  types: "import type {} from",
  export: "export * from",
}

/** A module that is a package or part of Node, and no file of the tree. */
const isPackage = (name: string): boolean => !/\.m?ts$|\.mjs$/.test(name) || name === "ipaddr.js"

function rowsOf(table: string): readonly Row[] {
  let rule = ""
  return table.split("\n").flatMap((line, at) => {
    const [, mark, path = "", kind = ""] = /^ {2}(no|yes) +(.+?)(?: \((\w+)\))?$/.exec(line) ?? []
    if (mark === undefined) {
      rule = line
      return []
    }
    const files = path
      .split(" → ")
      .map((file) => file.replace(/(?<=\/[abc])(?=\.m?[jt]s$)/, String(at)))
    return [
      { rule, line: line.trim(), isForbidden: mark === "no", files, words: WORDS[kind] ?? "" },
    ]
  })
}

const ROWS = rowsOf(IMPORTS)
const folder = mkdtempSync(join(tmpdir(), "import-rules-"))
afterAll(() => rmSync(folder, { recursive: true }))

function write(path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), text)
}

/** Writes one tree with the files of all rows and the packages that they import. */
function writeTree(): void {
  const texts = new Map<string, string>()
  const packages = new Set<string>()
  for (const { files, words } of ROWS) {
    for (const [index, file] of files.entries()) {
      if (isPackage(file)) {
        if (!file.startsWith("node:")) packages.add(file)
      } else if (file !== "src/gone.ts") {
        const to = files[index + 1]
        const text = texts.get(file) ?? ""
        const name = to === undefined || isPackage(to) ? to : `./${relative(dirname(file), to)}`
        texts.set(file, name === undefined ? text : `${text}${words} ${JSON.stringify(name)}\n`)
      }
    }
  }
  for (const [path, text] of texts) write(path, text)
  for (const name of packages) {
    write(`node_modules/${name}/package.json`, JSON.stringify({ name, main: "index.js" }))
    write(`node_modules/${name}/index.js`, "")
  }
  const [devDependencies, dependencies] = [true, false].map((isDev) => {
    const names = [...packages].filter((name) => (name === "fast-check") === isDev)
    return Object.fromEntries(names.map((name) => [name, "1"]))
  })
  write("package.json", JSON.stringify({ type: "module", dependencies, devDependencies }))
}

writeTree()
const rooms = new Set(ROWS.map(({ files: [file = ""] }) => file.split("/")[0] ?? ""))
const { violations } = await checkImports(folder, [...rooms])

describe("the import rules", () => {
  it.for(ROWS)("$rule: $line", ({ rule, files, isForbidden }) => {
    const [from = "", to = from] = files
    const name = isPackage(to) ? to.replace("node:", "") : basename(to)
    const broken = violations.filter(
      (one) => one.startsWith(`${rule}: ${from} → `) && one.includes(name),
    )
    expect(broken).toHaveLength(isForbidden ? 1 : 0)
  })

  it("have a case here", () => {
    const config = createRequire(import.meta.url)("../../.dependency-cruiser.cjs") as {
      readonly forbidden: readonly { readonly name: string }[]
    }
    const names = new Set(ROWS.flatMap(({ rule, isForbidden }) => (isForbidden ? [rule] : [])))
    expect(config.forbidden.map(({ name }) => name).filter((name) => !names.has(name))).toEqual([])
  })
})
