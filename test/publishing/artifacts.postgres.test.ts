/** Storing and removing artifacts, including those of hostile builds. */
import { createHash, randomBytes } from "node:crypto"
import { sql } from "kysely"
import { pack } from "tar-stream"
import type { Header, Pack } from "tar-stream"
import { beforeAll, describe, expect, it } from "vitest"
import type { Recipe } from "../../adapters/sandbox/preview-host/port.ts"
import { newId } from "../../src/frame/kernel/ids.ts"
import { openArtifact, removeArtifact, storeArtifact } from "../../src/publishing/artifacts.ts"
import type { Company, World } from "../support/world.ts"
import { makeCompany, sharedWorld } from "../support/world.ts"

const world = await sharedWorld()
let company: Company
beforeAll(async () => {
  company = await makeCompany(world)
})

type Entry = Partial<Header> & Pick<Header, "name">

/** A tar archive of files by path, and of other entries. */
function tarOf(
  files: Readonly<Record<string, string | Buffer>>,
  others: readonly Entry[] = [],
): AsyncIterable<Uint8Array> {
  const archive = pack()
  for (const other of others) archive.entry(other, "")
  for (const [name, content] of Object.entries(files)) archive.entry({ name }, content)
  archive.finalize()
  return piecesOf(archive)
}

async function* piecesOf(archive: Pack): AsyncGenerator<Uint8Array> {
  for await (const piece of archive) if (piece instanceof Uint8Array) yield piece
}

const base = { root: ".", install: null, build: null, env: {} }
const SITE: Recipe = { ...base, serves: { kind: "static", folder: "d", fallback: null } }
const APP: Recipe = { ...base, serves: { kind: "app", start: "x", release: null, health: "/" } }

const newArtifact = (recipe: Recipe) => ({
  companyId: company.companyId,
  publishId: newId("pub"),
  recipe,
})

const sha256 = (bytes: string | Buffer) => createHash("sha256").update(bytes).digest("hex")

async function bytesOf(source: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const parts: Uint8Array[] = []
  for await (const piece of source) parts.push(piece)
  return Buffer.concat(parts)
}

async function blobsLeft(): Promise<number> {
  const { rows } = await sql<{ count: string }>`select count(*) from ledger.blobs`.execute(
    world.ports.readAll,
  )
  return Number(rows[0]?.count)
}

describe("a site", () => {
  it("is stored file by file, and each file is found by its path", async () => {
    const of = newArtifact(SITE)
    const big = randomBytes(300_000)
    const files = { "./index.html": "<h1>a</h1>", "a/b.bin": big, "empty.txt": "" }
    const stored = await storeArtifact(world.ports, of, tarOf(files))
    expect(stored).toMatchObject({ files: 3, bytes: 300_010, leftOut: [] })
    const found = await openArtifact(world.ports, of.companyId, of.publishId)
    expect(found?.manifest.recipe).toEqual(SITE)
    expect([...(found?.manifest.files?.keys() ?? [])]).toEqual([
      "index.html",
      "a/b.bin",
      "empty.txt",
    ])
    const one = found?.manifest.files?.get("a/b.bin")
    expect(one).toEqual({ from: 10, size: 300_000, hash: sha256(big) })
    const range = { from: 10, until: 300_010 }
    expect(await bytesOf(found?.content.read(range) ?? noise())).toEqual(big)
  })

  it("is stored without links, pipes, devices, and paths that are duplicate or lead outside", async () => {
    const of = newArtifact(SITE)
    const others: readonly Entry[] = [
      { name: "leak.txt", type: "symlink", linkname: "/etc/passwd" },
      { name: "hard", type: "link", linkname: "index.html" },
      { name: "pipe", type: "fifo" },
      { name: "disk", type: "block-device", devmajor: 8, devminor: 0 },
      { name: "folder", type: "directory" },
      ...["../out.txt", "a/../../out.txt", "/etc/out.txt", "x".repeat(1_001)].map((name) => ({
        name,
      })),
    ]
    const files = { "index.html": "first", "./index.html": "second", __proto__x: "p" }
    const stored = await storeArtifact(world.ports, of, tarOf(files, others))
    const found = await openArtifact(world.ports, of.companyId, of.publishId)
    expect([...(found?.manifest.files?.keys() ?? [])]).toEqual(["index.html", "__proto__x"])
    expect(found?.manifest.files?.get("index.html")?.hash).toBe(sha256("first"))
    expect(stored.leftOut).toContain("leak.txt")
    expect(stored.leftOut).not.toContain("folder")
  })

  it.each([
    ["no files", () => tarOf({}, [{ name: "d", type: "directory" }]), /has no files/],
    ["more than 20,000 files", () => many(20_001), /more than 20000 files/],
    ["a file of more than 100 MiB", () => zeros(101), /larger than 100 MiB/],
    ["something other than an archive", () => noise(), /not a tar archive/],
  ])("with %s is rejected, and stores nothing", async (_what, tar, message) => {
    const before = await blobsLeft()
    const stored = storeArtifact(world.ports, newArtifact(SITE), tar())
    await expect(stored).rejects.toThrow(message)
    expect(await blobsLeft()).toBe(before)
  })

  it("whose build breaks off is not stored, and fails with the build's error", async () => {
    const before = await blobsLeft()
    const stored = storeArtifact(world.ports, newArtifact(SITE), torn())
    await expect(stored).rejects.toThrow("the sandbox ended")
    expect(await blobsLeft()).toBe(before)
  })
})

describe("an app", () => {
  it("is stored as an archive, including links, and removed completely", async () => {
    const before = await blobsLeft()
    const of = newArtifact(APP)
    const link: Entry = { name: "node_modules/.bin/x", type: "symlink", linkname: "../x" }
    const archive = await bytesOf(tarOf({ "server.js": "1" }, [link]))
    await storeArtifact(world.ports, of, whole(archive))
    // A second time, like a process that continues after another one crashed.
    const stored = await storeArtifact(world.ports, of, whole(archive))
    expect(stored).toMatchObject({ files: 1, bytes: archive.length })
    const found = await openArtifact(world.ports, of.companyId, of.publishId)
    expect(found?.manifest).toEqual({ recipe: APP, files: null })
    expect(await bytesOf(found?.content.read() ?? noise())).toEqual(archive)
    await removeArtifact(world.ports, of)
    await removeArtifact(world.ports, of)
    expect(await openArtifact(world.ports, of.companyId, of.publishId)).toBeNull()
    expect(await blobsLeft()).toBe(before)
  })

  it("of more than 500 MiB is rejected while it is read", async () => {
    let read = 0
    async function* endless(): AsyncGenerator<Uint8Array> {
      const piece = Buffer.alloc(8 * 1024 * 1024)
      for (;;) {
        read += piece.length
        yield piece
      }
    }
    const bounded = { ...world.ports, blobs: { ...world.ports.blobs, write: swallow } }
    const stored = storeArtifact(bounded, newArtifact(APP), endless())
    await expect(stored).rejects.toThrow("larger than 500 MiB")
    expect(read).toBeLessThan(520 * 1024 * 1024)
  })
})

/** Consumes a blob without storing it. */
const swallow: World["ports"]["blobs"]["write"] = async (_blob, source) => {
  let length = 0
  for await (const piece of source) length += piece.length
  return { length, versionId: "none", read: async function* () {} }
}

async function* whole(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

async function* noise(): AsyncGenerator<Uint8Array> {
  yield Buffer.alloc(4_096, 7)
}

async function* torn(): AsyncGenerator<Uint8Array> {
  const archive = await bytesOf(tarOf({ "a.txt": "a".repeat(100_000) }))
  yield archive.subarray(0, 50_000)
  throw new Error("the sandbox ended")
}

const many = (count: number) =>
  tarOf(Object.fromEntries(Array.from({ length: count }, (_, n) => [`f${n}`, ""])))

/** An archive with one large file, which is never in memory. */
async function* zeros(mebibytes: number): AsyncGenerator<Uint8Array> {
  const size = mebibytes * 1024 * 1024
  const header = pack()
  header.entry({ name: "big.bin", size })
  for await (const piece of piecesOf(header)) {
    yield piece
    break
  }
  for (let n = 0; n < mebibytes; n += 1) yield Buffer.alloc(1024 * 1024)
}
