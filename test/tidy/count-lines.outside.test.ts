import { execFile } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { promisify } from "node:util"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { codeLines } from "./code-lines.ts"
import { ROOT } from "./tree.ts"

const run = promisify(execFile)

/** Lines in their order; those of code have a bar before them. */
const TYPESCRIPT = [
  "|#!/usr/bin/env node",
  " // a comment to the line's end",
  '|const address = "https://example.com" // and one behind code',
  "|const text = '/* no comment'; const other = \"nor this */\"",
  " /* a line of its own */",
  "|/* before code */ const a = 1",
  "|const b = 2 /* begins behind code,",
  "   goes on",
  "|  and ends before */ + 3",
  " /* ends a line",
  "    and */ // is followed by another one",
  "|const pattern = /\\/\\/[/*\"'`]/g",
  "|const half = a / b // 2",
  "|const nested = `one ${ /* a comment in code in a text */ `// ${a}`",
  " // a comment in code in a text",
  "|}",
  "|// no comment, for it stands in a text",
  " ",
  "|  /* nor is this */`",
  " /**",
  "  * An example in a docstring is no code:",
  "  *",
  "  *     const c = 4",
  "  */",
  "|export function c(): void {",
  "   // nothing here",
  "|}",
  "|const [] = [/* nothing */",
  " ",
  "|]",
  "|export type T = { readonly d: string /* of e */ } // f",
  " // the last line has no end",
]

const SQL = [
  " -- a comment",
  "|select '-- no comment', \"/* nor this\" -- and one behind code",
  " /* a comment /* with one in it, isn't it */ which",
  "    ends here */",
  "|from t /* begins behind code",
  "|  and ends before */ where a = 'it''s /* fine' and b = e'\\' -- nor this'",
  "|and c = $body$",
  "|  -- a text with a tag,",
  " ",
  "|  /* whatever stands in it: $$ '",
  "|$body$ and d = $1 -- and that",
  "|- 1 / 2 * 3;",
]

/** The text of such lines, and the numbers of those of code. */
function marked(lines: readonly string[]) {
  const numbers = lines.flatMap((line, at) => (line.startsWith("|") ? [at + 1] : []))
  return { text: lines.map((line) => line.slice(1)).join("\n"), numbers }
}

describe("the lines of code", () => {
  it.each([
    ["TypeScript", "a.ts", TYPESCRIPT],
    ["JavaScript", "a.mjs", TYPESCRIPT.filter((line) => !line.includes(": "))],
    ["SQL", "a.sql", SQL],
  ])("are neither blank nor comments alone: %s", (_language, path, lines) => {
    const { text, numbers } = marked(lines)
    expect(codeLines(path, text)).toEqual(numbers)
    expect(codeLines(path, text.replaceAll("\n", "\r\n"))).toEqual(numbers)
  })

  it("are none in a file of comments, and in an empty one", () => {
    for (const text of ["", "\n\n", "// a\n/* b */", "/** c */\n"]) {
      expect(codeLines("a.ts", text)).toEqual([])
    }
    expect(codeLines("a.sql", "-- a\n/* b")).toEqual([])
  })

  it("are not looked for in other files", () => {
    expect(codeLines("a.json", "{}")).toBeNull()
  })
})

describe("bin/count-lines.mjs", () => {
  let root = ""
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "count-lines-"))
  })
  afterEach(() => rmSync(root, { recursive: true }))

  function write(path: string, text: string): void {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }

  const count = async (...words: readonly string[]): Promise<string> => {
    const script = join(ROOT, "bin", "count-lines.mjs")
    return (await run(process.execPath, [script, "--root", root, ...words])).stdout
  }

  it("refuses a folder that is not there, and words that it does not know", async () => {
    for (const words of [["--root", join(root, "gone")], ["--sideways"]]) {
      await expect(count(...words)).rejects.toMatchObject({ code: 2, stdout: "" })
    }
  })

  it("counts another checkout by part and folder", async () => {
    write("src/a.ts", "const a = 1\n\n// b\n")
    write("src/deep/er/b.ts", "const b = 2\nconst c = 3\n")
    write("adapters/0001.sql", "-- a\nselect 1;\n")
    write("adapters/notes.md", "no code\n")
    write("test/a.test.ts", "it()\nit()\nit()\n")
    write("bench/main.ts", "run()\n")
    write("bench/node_modules/other/index.js", "theirs()\n")
    write("elsewhere/a.ts", "left.out()\n")
    const counts = JSON.parse(await count("--json")) as object[]
    expect(counts).toEqual([
      { part: "source", folder: "domain", files: 0, lines: 0 },
      { part: "source", folder: "projections", files: 0, lines: 0 },
      { part: "source", folder: "adapters", files: 1, lines: 1 },
      { part: "source", folder: "src", files: 2, lines: 3 },
      { part: "tests", folder: "test", files: 1, lines: 3 },
      { part: "apart", folder: "bench", files: 1, lines: 1 },
      { part: "apart", folder: "bin", files: 0, lines: 0 },
    ])
    const table = (await count()).trimEnd().split("\n")
    expect(table.map((line) => line.split(/\s+/))).toEqual(
      expect.arrayContaining([
        ["part", "folder", "files", "lines"],
        ["source", "src", "2", "3"],
        ["source", "all", "3", "4"],
        ["apart", "all", "1", "1"],
      ]),
    )
  })
})
