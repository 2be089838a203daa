/** The bundle as processes run it. */
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterAll, beforeAll, expect, it } from "vitest"
import { BUNDLE, SOURCE, isBundleFresh, programFile } from "../../bin/program.mjs"
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

it("keeps no code of a former bundle", async () => {
  const kept = join(folder, "compiled-before")
  const place = await opened({ NODE_COMPILE_CACHE: kept })
  await place.ledger("config")
  const files = await readdir(kept, { recursive: true })
  const path = files.find((name) => name.includes("program-")) ?? ""
  const before = join(dirname(path), "program-0123")
  await writeFile(join(kept, before), "")
  await rm(join(kept, path))
  await place.ledger("config")
  const now = await readdir(kept, { recursive: true })
  expect([now.includes(path), now.includes(before)]).toEqual([true, false])
})

it("is no part of a server that starts from the sources", async () => {
  const place = await opened({}, SOURCE)
  const server = await place.start()
  expect((await fetch(`${server.url}/readyz`)).status).toBe(200)
  expect(await place.ledger("company", "list")).toEqual({ companies: [] })
  expect(await server.end("SIGTERM")).toBe(0)
})
