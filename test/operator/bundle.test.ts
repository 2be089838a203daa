/** The bundle: when it is run in place of the sources, and what it keeps. */
import { mkdir, mkdtemp, readFile, readdir, rm, utimes, writeFile } from "node:fs/promises"
import type { SourceMapPayload } from "node:module"
import { SourceMap } from "node:module"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import {
  BUNDLE,
  OUT,
  ROOMS,
  SOURCE,
  isBundleFresh,
  programFile,
  sources,
} from "../../bin/program.mjs"
import type { SourceMapText } from "../../src/bundle/line-map.ts"
import { openLineMap } from "../../src/bundle/line-map.ts"
import type { Place } from "../support/server-process.ts"
import { makePlace } from "../support/server-process.ts"

let folder = ""
const places: Place[] = []
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "ledger-bundle-"))
})
afterAll(async () => {
  for (const place of places) await place.clear()
  await rm(folder, { recursive: true })
})

async function opened(...args: Parameters<typeof makePlace>): Promise<Place> {
  const place = await makePlace(...args)
  places.push(place)
  return place
}

describe("the hash of the sources", () => {
  const AT = new Date(1_700_000_000_000)
  const write = async (path: string, text: string, at = AT): Promise<void> => {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), text)
    await utimes(join(folder, path), at, at)
  }

  it("changes with each file that is written, added or removed, and with nothing else", async () => {
    const own = ["package-lock.json", "bin/bundle.mjs", ...ROOMS.map((room) => `${room}/a/b.ts`)]
    for (const path of own) await write(path, "one")
    const first = sources(folder)
    await write("docs/a.md", "none of it")
    expect(sources(folder)).toBe(first)
    const seen = new Set([first])
    for (const path of own) {
      await write(path, "two", new Date(AT.getTime() + 1))
      seen.add(sources(folder))
      await write(path, "one")
      expect(sources(folder)).toBe(first)
    }
    await write("src/c.ts", "")
    seen.add(sources(folder))
    await rm(join(folder, "src/c.ts"))
    await rm(join(folder, "src/a/b.ts"))
    seen.add(sources(folder))
    expect(seen.size).toBe(own.length + 3)
  })
})

it("is what a checkout runs once it is built", () => {
  expect(isBundleFresh()).toBe(true)
  expect(programFile()).toBe(BUNDLE)
})

it("answers as the sources do", async () => {
  const [bundled, plain] = [await opened(), await opened({}, SOURCE)]
  for (const line of ["--version", "limit set --help", "company lst", "config"]) {
    const words = line.split(" ")
    const answer = await plain.attempt(...words)
    const away = (text: string) => text.replaceAll(plain.dataDir, bundled.dataDir)
    expect(await bundled.attempt(...words), line).toEqual({
      code: answer.code,
      stdout: away(answer.stdout),
      stderr: away(answer.stderr),
    })
  }
})

it("keeps the code that V8 made of the program, where Node keeps its own", async () => {
  const kept = join(folder, "compiled")
  const place = await opened({ NODE_COMPILE_CACHE: kept })
  const files = async () =>
    (await readdir(kept, { recursive: true })).filter((path) => path.includes("program-"))
  await place.ledger("config")
  const first = await files()
  expect(first).toEqual([expect.stringMatching(/\/program-[0-9a-f]+$/)])
  await place.ledger("config")
  expect(await files()).toEqual(first)
})

it("is no part of a server that starts from the sources", async () => {
  const place = await opened({}, SOURCE)
  const server = await place.start()
  expect((await fetch(`${server.url}/readyz`)).status).toBe(200)
  expect(await place.ledger("company", "list")).toEqual({ companies: [] })
  expect(await server.end("SIGTERM")).toBe(0)
})

describe("the places in a file of the bundle", () => {
  it("lead to the places in the sources that Node's own reader finds", async () => {
    const text = await readFile(join(OUT, "page-thread.cjs.map"), "utf8")
    const find = openLineMap(JSON.parse(text) as SourceMapText)
    const map = new SourceMap(JSON.parse(text) as SourceMapPayload)
    // Its last line names the map.
    const code = (await readFile(join(OUT, "page-thread.cjs"), "utf8")).split("\n").slice(0, -2)
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
