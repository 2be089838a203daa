/** Whether the bundle is that of the sources, and where its places are in them. */
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

  it("changes with each file that is written, added or removed, and with nothing else", async () => {
    const own = [
      "package-lock.json",
      "tsconfig.json",
      "bin/bundle.mjs",
      ...SOURCE_FOLDERS.map((room) => `${room}/a/b.ts`),
    ]
    for (const path of own) await write(path, "one")
    const first = sourcesHash(folder)
    await write("docs/a.md", "none of it")
    // Editors keep such files beside the one that is being written.
    await symlink("me@host.1:2", join(folder, "src/.#c.ts"))
    await write("src/.c.ts.swp", "")
    expect(sourcesHash(folder)).toBe(first)
    const seen = new Set([first])
    for (const path of own) {
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
    expect(seen.size).toBe(own.length + 3)
  })
})

describe("the places in a file of the bundle", () => {
  it("lead to the places in the sources that Node's own reader finds", async () => {
    const text = await readFile(join(BUNDLE_FOLDER, "page-thread.cjs.map"), "utf8")
    const find = openLineMap(JSON.parse(text) as SourceMapText)
    const map = new SourceMap(JSON.parse(text) as SourceMapPayload)
    // Its last line names the map.
    const code = (await readFile(join(BUNDLE_FOLDER, "page-thread.cjs"), "utf8"))
      .split("\n")
      .slice(0, -2)
    const spots = code.flatMap((line, row) =>
      Array.from({ length: Math.ceil(line.length / 7) }, (_, i) => [row + 1, i * 7 + 1] as const),
    )
    expect(spots.length).toBeGreaterThan(10_000)
    const found = spots.map((spot) => find(...spot))
    const wanted = spots.map(([line, column]) => {
      const entry = map.findEntry(line - 1, column - 1)
      if (!("originalSource" in entry) || entry.originalSource === undefined) return null
      const { originalSource: source, originalLine, originalColumn } = entry
      return { source, line: originalLine + 1, column: originalColumn + 1 }
    })
    expect(found).toEqual(wanted)
  })
})
