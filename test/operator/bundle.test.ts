/** The freshness of the bundle, and its source maps. */
import { mkdir, mkdtemp, readFile, rm, symlink, utimes, writeFile } from "node:fs/promises"
import { type SourceMapPayload, SourceMap } from "node:module"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterAll, describe, expect, it } from "vitest"
import { BUNDLE_FOLDER, SOURCE_FOLDERS, sourcesHash } from "../../bin/program.mjs"
import { type SourceMapText, openLineMap } from "../../src/bundle/line-map.ts"
afterAll(() => rm(folder, { recursive: true }))

const folder = await mkdtemp(join(tmpdir(), "ledger-bundle-"))

describe("the hash of the sources", () => {
  const AT = new Date(1_700_000_000_000)
  const write = async (path: string, text: string, at = AT): Promise<void> => {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), text)
    await utimes(join(folder, path), at, at)
  }

  it("changes only when a source file is written, added or removed", async () => {
    const sources = [
      "package-lock.json",
      "tsconfig.json",
      "bin/bundle.mjs",
      ...SOURCE_FOLDERS.map((name) => `${name}/a/b.ts`),
    ]
    for (const path of sources) await write(path, "one")
    const first = sourcesHash(folder)
    await write("docs/a.md", "not a source")
    // Editors create such files next to the file being edited.
    await symlink("me@host.1:2", join(folder, "src/.#c.ts"))
    await write("src/.c.ts.swp", "")
    expect(sourcesHash(folder)).toBe(first)
    const seen = new Set([first])
    for (const path of sources) {
      await write(path, "two", new Date(AT.getTime() + 1))
      seen.add(sourcesHash(folder))
      await write(path, "one")
      expect(sourcesHash(folder)).toBe(first)
    }
    await write("src/c.ts", "")
    seen.add(sourcesHash(folder))
    await rm(join(folder, "src/c.ts"))
    await rm(join(folder, "src/a/b.ts"))
    seen.add(sourcesHash(folder))
    expect(seen.size).toBe(sources.length + 3)
  })
})

describe("a location in the bundle", () => {
  it("maps to the same source location as in Node's own source map reader", async () => {
    const text = await readFile(join(BUNDLE_FOLDER, "page-thread.cjs.map"), "utf8")
    const find = openLineMap(JSON.parse(text) as SourceMapText)
    const map = new SourceMap(JSON.parse(text) as SourceMapPayload)
    // The last line names the source map.
    const code = (await readFile(join(BUNDLE_FOLDER, "page-thread.cjs"), "utf8"))
      .split("\n")
      .slice(0, -2)
    const locations = code.flatMap((line, row) =>
      Array.from({ length: Math.ceil(line.length / 7) }, (_, i) => [row + 1, i * 7 + 1] as const),
    )
    expect(locations.length).toBeGreaterThan(10_000)
    const found = locations.map((location) => find(...location))
    const expected = locations.map(([line, column]) => {
      const entry = map.findEntry(line - 1, column - 1)
      if (!("originalSource" in entry) || entry.originalSource === undefined) return null
      const { originalSource: source, originalLine, originalColumn } = entry
      return { source, line: originalLine + 1, column: originalColumn + 1 }
    })
    expect(found).toEqual(expected)
  })
})
