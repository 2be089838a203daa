/** The repositories through their port, with and without the sandbox. */
import { randomBytes } from "node:crypto"
import { mkdtemp, readdir, rm, utimes, mkdir, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { DEFAULT_SESSION_TIMEOUTS } from "../../adapters/git/read-repository.ts"
import { openGit } from "../../adapters/git/git.ts"
import type { IncomingPush, Repositories, PushVerdict } from "../../adapters/git/port.ts"
import {
  GitFailed,
  GitUnavailable,
  MAX_CHUNK_BYTES,
  RepositoryNotFound,
} from "../../adapters/git/port.ts"
import type { CompanyId } from "../../domain/kernel/ids.ts"
import { newId } from "../../src/frame/kernel/ids.ts"
import type { GitWorkspace } from "./git.ts"
import { openGitWorkspace, pushBody } from "./git.ts"

let workspace: GitWorkspace
let codeDir: string
beforeAll(async () => {
  workspace = await openGitWorkspace()
  codeDir = await mkdtemp(join(tmpdir(), "company-ledger-code-"))
})
afterAll(async () => {
  await workspace.clear()
  await rm(codeDir, { recursive: true, force: true })
})

const ACCEPTED: PushVerdict = { ok: true }
const folderOf = (companyId: CompanyId) => join(codeDir, Buffer.from(companyId).toString("hex"))

/** The commit of the repository's only ref. */
const tipOf = async (git: Repositories, companyId: CompanyId) =>
  (await git.listRefs(companyId))[0]?.id ?? ""

async function* piecesOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 10_000) yield bytes.subarray(at, at + 10_000)
}

/** Receives bytes as a push; returns git's answer. */
async function receive(
  git: Repositories,
  companyId: CompanyId,
  input: AsyncIterable<Uint8Array>,
  judge: (push: IncomingPush) => Promise<PushVerdict>,
): Promise<string> {
  const sent: Uint8Array[] = []
  const send = async (piece: Uint8Array) => {
    sent.push(piece)
  }
  const { signal } = new AbortController()
  await git.receivePush({ companyId, protocol: null, input, send, signal }, judge)
  return Buffer.concat(sent).toString("utf8")
}

async function all<T>(rows: AsyncIterable<T>): Promise<readonly T[]> {
  const found: T[] = []
  for await (const row of rows) found.push(row)
  return found
}

async function collected(
  write: (send: (piece: Uint8Array) => Promise<void>) => Promise<unknown>,
): Promise<Buffer> {
  const sent: Uint8Array[] = []
  await write(async (piece) => {
    sent.push(piece)
  })
  return Buffer.concat(sent)
}

describe.each([
  ["with the sandbox if it is available", {}],
  ["without a sandbox", { sandbox: "never" }],
] as const)("repositories, run %s", (_what, options) => {
  const repository = `port-${"sandbox" in options ? "plain" : "sandboxed"}`
  const companyId = newId("co")
  let git: Repositories
  beforeAll(async () => {
    git = openGit({ codeDir, ...options })
    await git.create(companyId)
    await workspace.run(["init", "--quiet", repository])
  })

  it("show a push with only its new objects and commits before a ref moves", async () => {
    const path = "src/sealed/größe file.txt"
    const first = await workspace.commit(repository, path, "sealed\n")
    const big = randomBytes(3_000_000)
    const second = await workspace.commit(repository, "big.bin", big)
    const inspect = async (push: IncomingPush): Promise<PushVerdict> => {
      expect(push.updates).toEqual([{ ref: "refs/heads/main", old: null, new: second }])
      expect(await git.listRefs(companyId)).toEqual([])
      const objects = await all(push.listNewObjects())
      const types = objects.map(({ type }) => type).toSorted()
      expect(types).toEqual(["blob", "blob", "commit", "commit", ...Array(4).fill("tree")])
      const blobs = objects.filter(({ type }) => type === "blob")
      const read = await all(push.readObjects(blobs.map(({ id }) => id)))
      const contents = blobs.map(({ id }) =>
        Buffer.concat(read.filter((one) => one.id === id).map(({ bytes }) => bytes)),
      )
      expect(contents.map(({ length }) => length)).toEqual(blobs.map(({ size }) => size))
      expect(Math.max(...read.map(({ bytes }) => bytes.length))).toBeLessThanOrEqual(
        MAX_CHUNK_BYTES,
      )
      const sealed = read.find(({ size }) => size === 7)
      expect(Buffer.from(sealed?.bytes ?? []).toString()).toBe("sealed\n")
      expect(contents.some((bytes) => big.equals(bytes))).toBe(true)
      expect(await push.findPath(sealed?.id ?? "")).toBe(path)
      expect(await push.findPath(first)).toBeNull()
      expect(await all(push.listNewCommits())).toEqual([
        { id: second, parents: [first] },
        { id: first, parents: [] },
      ])
      const folders = await all(push.readFolders([first, second], "src/sealed"))
      expect(folders).toEqual(
        [first, second].map((commit) => ({
          commits: [commit],
          entries: [{ mode: "100644", name: "größe file.txt", id: sealed?.id }],
        })),
      )
      const [root, none] = [push.readFolders([first], ""), push.readFolders([first], path)]
      expect((await all(root))[0]?.entries).toEqual([
        { mode: "40000", name: "src", id: expect.stringMatching(/^[0-9a-f]{40}$/) as string },
      ])
      expect(await all(none)).toEqual([{ commits: [first], entries: null }])
      expect([await push.isAncestor(first, second), await push.isAncestor(second, first)]).toEqual([
        true,
        false,
      ])
      return ACCEPTED
    }
    const answer = await receive(
      git,
      companyId,
      piecesOf(await pushBody(workspace, repository)),
      inspect,
    )
    expect(answer).toContain("ok refs/heads/main")
    expect(await git.listRefs(companyId)).toEqual([{ id: second, ref: "refs/heads/main" }])
  })

  it("skip objects that a pack repeats, stop reading early, and know which commits refs reach", async () => {
    const old = await tipOf(git, companyId)
    const third = await workspace.commit(repository, "c", "c\n")
    const body = await pushBody(workspace, repository, { old })
    await receive(git, companyId, piecesOf(body), async (push) => {
      expect(await all(push.listNewObjects())).toHaveLength(3)
      for await (const one of push.listNewObjects()) {
        expect(one.id).toMatch(/^[0-9a-f]{40}$/)
        break
      }
      await expect(all(push.readObjects(["0".repeat(40)]))).rejects.toThrow(
        "did not find the object",
      )
      return { ok: false, lines: ["no: name\u001b[31m\nof a file"] }
    })
    expect(await git.isReachable(companyId, third)).toBe(false)
    expect(await git.isReachable(companyId, old)).toBe(true)
    for (const name of ["main", "--all", `${old}^`, "f".repeat(40)]) {
      expect(await git.isReachable(companyId, name)).toBe(false)
    }
  })

  it("send the reasons of a rejected push with control characters escaped", async () => {
    const old = await tipOf(git, companyId)
    const body = await pushBody(workspace, repository, { old })
    const lines = ["no: a\u001b[31m\nb\u202e"]
    const answer = await receive(git, companyId, piecesOf(body), async () => ({ ok: false, lines }))
    expect(answer).toContain("no: a\\u001b[31m\\u000ab\\u202e\n")
    expect(answer).toContain("ng refs/heads/main pre-receive hook declined")
    const fault = new Error("the scanner failed")
    const failing = receive(git, companyId, piecesOf(body), async () => Promise.reject(fault))
    await expect(failing).rejects.toBe(fault)
    expect((await git.listRefs(companyId)).map(({ id }) => id)).toEqual([old])
  })

  it("read a file without following links, up to a size limit", async () => {
    const commit = await tipOf(git, companyId)
    const path = "src/sealed/größe file.txt"
    const file = await git.readFile(companyId, commit, path, 7)
    expect([file?.mode, Buffer.from(file?.bytes ?? []).toString()]).toEqual(["100644", "sealed\n"])
    const folder = await git.readFile(companyId, commit, "src/sealed", 7)
    expect([folder?.mode, folder?.bytes.length]).toEqual(["40000", 0])
    for (const other of ["none", "", "/src", "src/", "*", ":/", "../x", "src/../src/sealed"]) {
      expect([other, await git.readFile(companyId, commit, other, 7)]).toEqual([other, null])
    }
    expect(await git.readFile(companyId, commit, path, 6)).toBeNull()
    expect(await git.readFile(companyId, "main", path, 7)).toBeNull()
  })

  it("are exported as a bundle and imported again, checked like a push", async () => {
    const copy = newId("co")
    await git.create(copy)
    expect(await collected((send) => git.bundle(copy, send))).toHaveLength(0)
    const bundle = await collected((send) => git.bundle(companyId, send))
    const refused: PushVerdict = { ok: false, lines: ["not this one"] }
    expect(await git.importBundle(copy, piecesOf(bundle), async () => refused)).toEqual(refused)
    expect(await git.listRefs(copy)).toEqual([])
    expect(await git.importBundle(copy, piecesOf(bundle), async () => ACCEPTED)).toEqual(ACCEPTED)
    expect(await git.listRefs(copy)).toEqual(await git.listRefs(companyId))
    const again = git.importBundle(copy, piecesOf(bundle), async () => refused)
    expect(await again).toEqual(ACCEPTED)
    const cut = bundle.subarray(0, bundle.length - 100)
    const fresh = newId("co")
    await git.create(fresh)
    const torn = git.importBundle(fresh, piecesOf(cut), async () => ACCEPTED)
    const reason = expect.stringMatching(/^unpack /) as string
    expect(await torn).toMatchObject({
      ok: false,
      lines: expect.arrayContaining([reason]) as unknown,
    })
    expect(await git.listRefs(fresh)).toEqual([])
    const other = git.importBundle(
      fresh,
      piecesOf(Buffer.from("PK\u0003\u0004")),
      async () => ACCEPTED,
    )
    await expect(other).rejects.toThrow(GitFailed)
  })

  it("are maintained: loose objects are packed, old leftovers of killed pushes are deleted", async () => {
    const objects = join(folderOf(companyId), "objects")
    const [old, young] = ["tmp_objdir-incoming-old", "tmp_objdir-incoming-young"]
    for (const name of [old, young]) await mkdir(join(objects, name))
    await utimes(join(objects, old), 0, 0)
    await git.maintain(companyId)
    const left = (await readdir(objects)).filter((name) => name.startsWith("tmp_"))
    expect(left).toEqual([young])
    expect(await git.listRefs(companyId)).toHaveLength(1)
  })

  it("are swept of old leftovers and of nothing else", async () => {
    const waiting = join(folderOf(companyId), "objects", "tmp_objdir-incoming-swept")
    const left = ["ab12.erased", "ab12.new-0f3c5a1e-9b7d"].map((name) => join(codeDir, name))
    const young = ["cd34.erased", "other"].map((name) => join(codeDir, name))
    for (const folder of [waiting, ...left, ...young]) await mkdir(folder)
    // A `.keep` file guards a pack while its push lands; a killed push leaves it behind.
    const packs = join(folderOf(companyId), "objects", "pack")
    const [guard, dead] = ["a", "b"].map((one) => `pack-${one.repeat(40)}.keep`)
    for (const name of [guard, dead]) await writeFile(join(packs, name ?? ""), "receive-pack 1")
    for (const path of [waiting, ...left, join(packs, dead ?? "")]) await utimes(path, 0, 0)
    await git.sweep()
    expect((await readdir(packs)).filter((name) => name.endsWith("keep"))).toEqual([guard])
    await rm(join(packs, guard ?? ""))
    const names = await readdir(codeDir)
    expect(names.filter((name) => /^ab12|^cd34|^other/.test(name)).toSorted()).toEqual([
      "cd34.erased",
      "other",
    ])
    await expect(readdir(waiting)).rejects.toMatchObject({ code: "ENOENT" })
    expect(await git.listRefs(companyId)).toHaveLength(1)
    for (const folder of young) await rm(folder, { recursive: true })
    await openGit({ codeDir: join(codeDir, "not-there") }).sweep()
  })

  it("are erased completely, even repeatedly", async () => {
    await git.erase(companyId)
    await git.erase(companyId)
    expect(await git.has(companyId)).toBe(false)
    expect((await readdir(codeDir)).filter((name) => folderOf(companyId).endsWith(name))).toEqual(
      [],
    )
    await expect(git.listRefs(companyId)).rejects.toThrow(RepositoryNotFound)
    await git.create(companyId)
    expect(await git.listRefs(companyId)).toEqual([])
  })
})

describe("a client", () => {
  it("that sends only a byte occasionally is disconnected", async () => {
    const timeouts = { ...DEFAULT_SESSION_TIMEOUTS, idleMs: 200, graceMs: 10_000 }
    const git = openGit({ codeDir, timeouts })
    const companyId = newId("co")
    await git.create(companyId)
    await workspace.run(["init", "--quiet", "drip"])
    await workspace.commit("drip", "a", randomBytes(100_000))
    const body = await pushBody(workspace, "drip")
    const dripping = async function* () {
      for (let at = 0; ; at += 1) {
        yield body.subarray(at, at + 1)
        await new Promise((done) => setTimeout(done, 20))
      }
    }
    const pushing = receive(git, companyId, dripping(), async () => ACCEPTED)
    await expect(pushing).rejects.toThrow("the client was idle for")
    expect(await git.listRefs(companyId)).toEqual([])
  })

  it("that is silent is disconnected, and nothing of its push stays", async () => {
    const timeouts = { ...DEFAULT_SESSION_TIMEOUTS, idleMs: 50, graceMs: 10_000 }
    const git = openGit({ codeDir, timeouts })
    const companyId = newId("co")
    await git.create(companyId)
    await workspace.run(["init", "--quiet", "silent"])
    await workspace.commit("silent", "a", randomBytes(100_000))
    const body = await pushBody(workspace, "silent")
    const silent = async function* () {
      yield body.subarray(0, 50_000)
      await new Promise(() => undefined)
    }
    const pushing = receive(git, companyId, silent(), async () => ACCEPTED)
    await expect(pushing).rejects.toThrow("the client was idle for")
    const objects = await readdir(join(folderOf(companyId), "objects"))
    expect(objects.filter((name) => name.startsWith("tmp_"))).toEqual([])
  })
})

it("a folder that cannot be created fails each call with the cause", async () => {
  const below = join(workspace.path, ".gitconfig", "code")
  const git = openGit({ codeDir: below })
  await expect(git.has(newId("co"))).rejects.toThrow(GitUnavailable)
  await expect(git.has(newId("co"))).rejects.toThrow(`the folder ${below} cannot be created`)
})
