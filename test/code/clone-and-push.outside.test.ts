/** Successful clones, fetches, pulls and pushes with the ordinary git, and how many calls each counts. */
import { randomBytes } from "node:crypto"
import { readFile, readdir } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, it, beforeEach } from "vitest"
import { unchargedCallsOf, setLimit } from "../support/world.ts"
import { codeWorld, makeCodeCompany } from "./code-world.ts"
import { FLUSH_PACKET, pktLine } from "../../adapters/git/port.ts"
import type { Company } from "../support/world.ts"
import type { LimitOptions } from "../support/company.ts"

const here = await codeWorld()
const { addressOf, workspace, warnings, world } = here

/** A company with two commits, and a clone of its repository in the workspace. */
async function makeClonedCompany(folder: string): Promise<Company> {
  const company = await makeCodeCompany(world)
  await workspace.run(["clone", "--quiet", addressOf(company), folder])
  await workspace.commit(folder, "README", "one\n")
  await workspace.commit(folder, "src/big.bin", randomBytes(300_000))
  await workspace.run(["push", "--quiet", "origin", "main"], { folder: folder })
  return company
}

describe("an ordinary git", () => {
  it("clones an empty repository, pushes to it, and clones it again", async () => {
    const company = await makeCodeCompany(world)
    const empty = await workspace.git(["clone", addressOf(company), "empty"])
    expect([empty.code, empty.stderr]).toEqual([0, expect.stringContaining("empty repository")])
    const commit = await workspace.commit("empty", "a.txt", "one\n")
    await workspace.run(["push", "--quiet", "origin", "main"], { folder: "empty" })
    expect(await world.ports.repositories.listRefs(company.companyId)).toEqual([
      { id: commit, ref: "refs/heads/main" },
    ])
    await workspace.run(["clone", "--quiet", addressOf(company), "again"])
    expect(await readFile(join(workspace.path, "again", "a.txt"), "utf8")).toBe("one\n")
    // A clone, a push and a clone.
    expect(await unchargedCallsOf(world, company)).toBe(3)
  })

  it("clones the branch that was pushed first, with any name", async () => {
    const company = await makeCodeCompany(world)
    await workspace.run(["init", "--quiet", "--initial-branch=trunk", "first"])
    await workspace.commit("first", "a.txt", "one\n")
    await workspace.run(["push", "--quiet", addressOf(company), "trunk"], { folder: "first" })
    await workspace.run(["clone", "--quiet", addressOf(company), "of-first"])
    expect(await readFile(join(workspace.path, "of-first", "a.txt"), "utf8")).toBe("one\n")
    expect(await workspace.run(["symbolic-ref", "HEAD"], { folder: "of-first" })).toBe(
      "refs/heads/trunk",
    )
    // The first branch becomes the default branch and cannot be deleted.
    await workspace.commit("first", "b.txt", "two\n")
    await workspace.run(["push", "--quiet", addressOf(company), "trunk:main"], { folder: "first" })
    const deleted = await workspace.git(["push", addressOf(company), ":trunk"], { folder: "first" })
    expect([deleted.code, deleted.stderr]).toEqual([
      1,
      expect.stringContaining("Push rejected: the default branch cannot be deleted"),
    ])
    await workspace.run(["push", "--quiet", addressOf(company), ":main"], { folder: "first" })
  })

  it.each([0, 1, 2])("can use version %i of its protocol", async (version) => {
    const withVersion = ["-c", `protocol.version=${version}`]
    const company = await makeClonedCompany(`v${version}`)
    const there = `v${version}-b`
    await workspace.run([...withVersion, "clone", "--quiet", addressOf(company), there])
    const commit = await workspace.commit(there, "more", `${version}\n`)
    await workspace.run([...withVersion, "push", "--quiet", "origin", "main"], { folder: there })
    await workspace.run([...withVersion, "pull", "--quiet"], { folder: `v${version}` })
    expect(await workspace.run(["rev-parse", "HEAD"], { folder: `v${version}` })).toBe(commit)
    expect(warnings()).toEqual([])
  })

  it("fetches parts of a repository: the newest commit, no files, one branch", async () => {
    const company = await makeClonedCompany("whole")
    await workspace.run(["checkout", "--quiet", "-b", "side"], { folder: "whole" })
    await workspace.commit("whole", "side.txt", "side\n")
    await workspace.run(["tag", "v1"], { folder: "whole" })
    await workspace.run(["tag", "--annotate", "--message", "Two", "v2"], { folder: "whole" })
    await workspace.run(["push", "--quiet", "origin", "side", "--tags"], { folder: "whole" })
    const address = addressOf(company)
    await workspace.run(["clone", "--quiet", "--depth", "1", address, "shallow"])
    expect(await workspace.run(["rev-list", "--count", "HEAD"], { folder: "shallow" })).toBe("1")
    await workspace.run(["fetch", "--quiet", "--unshallow"], { folder: "shallow" })
    expect(await workspace.run(["rev-list", "--count", "HEAD"], { folder: "shallow" })).toBe("2")
    const clonePartially = ["clone", "--quiet", "--filter=blob:none", "--no-checkout"]
    await workspace.run([...clonePartially, address, "partial"])
    const missing = await workspace.run(["rev-list", "--objects", "--all", "--missing=print"], {
      folder: "partial",
    })
    expect(missing.split("\n").filter((line) => line.startsWith("?"))).toHaveLength(3)
    await workspace.run(["checkout", "--quiet", "main"], { folder: "partial" })
    expect((await readdir(join(workspace.path, "partial"))).toSorted()).toEqual([
      ".git",
      "README",
      "src",
    ])
    await workspace.run(["clone", "--quiet", "--branch", "v2", address, "tagged"])
    expect(await readFile(join(workspace.path, "tagged", "side.txt"), "utf8")).toBe("side\n")
  })

  it.each([0, 1, 2])("fills a partial clone with version %i of its protocol", async (version) => {
    const company = await makeClonedCompany(`filtered-${version}`)
    const withVersion = ["-c", `protocol.version=${version}`]
    const there = `partial-${version}`
    await workspace.run([...withVersion, "clone", "--filter=blob:none", addressOf(company), there])
    expect(await readFile(join(workspace.path, there, "README"), "utf8")).toBe("one\n")
  })

  it("sends a large push in chunks, and a long request gzipped", async () => {
    const company = await makeClonedCompany("long")
    // This is over git's buffer: it first probes for authorization, then sends chunks.
    await workspace.commit("long", "large.bin", randomBytes(3_000_000))
    await workspace.run(["push", "--quiet", "origin", "main"], { folder: "long" })
    await workspace.run(["clone", "--quiet", addressOf(company), "fetching"])
    // Commits that the server lacks make the request long.
    const commitNothing = ["commit", "--quiet", "--allow-empty", "--message", "Nothing"]
    for (let i = 0; i < 40; i += 1) await workspace.run(commitNothing, { folder: "fetching" })
    await workspace.commit("long", "b", "b\n")
    await workspace.run(["push", "--quiet", "origin", "main"], { folder: "long" })
    const trace = { GIT_TRACE_CURL: "2", GIT_TRACE_CURL_NO_DATA: "1" }
    const { code, stderr } = await workspace.git(["fetch", "origin"], {
      folder: "fetching",
      env: trace,
    })
    expect(code).toBe(0)
    expect(stderr).toMatch(/=> Send header: content-encoding: gzip/i)
    expect(warnings()).toEqual([])
  })

  it("leaves no warning in the log", () => {
    expect(warnings()).toEqual([])
  })
})

let company: Company
let tip: string
beforeEach(async () => {
  company = await makeCodeCompany(here.world)
  const folder = `of ${company.companyId}`
  await here.workspace.run(["init", "--quiet", folder])
  tip = await here.workspace.commit(folder, "a", "a\n")
  await here.workspace.run(["push", "--quiet", here.addressOf(company), "main"], { folder: folder })
})

/** Requests a pack without requesting the refs first; returns the answer. */
async function fetchPack(): Promise<string> {
  const { name, key } = company
  const path = `/git/${encodeURIComponent(name)}.git/git-upload-pack`
  const want = pktLine(`want ${tip} ofs-delta\n`)
  const answer = await fetch(`${here.server}${path}`, {
    method: "POST",
    headers: {
      authorization: `Basic ${Buffer.from(`${name}:${key}`).toString("base64")}`,
      "content-type": "application/x-git-upload-pack-request",
    },
    body: Buffer.concat([want, FLUSH_PACKET, pktLine("done\n")]),
  })
  return Buffer.from(await answer.arrayBuffer()).toString("latin1")
}

const refs = () => here.workspace.run(["ls-remote", here.addressOf(company)])
const clone = () => {
  const into = `clone-${(clones += 1)}`
  return here.workspace.git(["clone", "--quiet", here.addressOf(company), into])
}
let clones = 0
const limitTo = (calls: number, options: Partial<LimitOptions> = {}) =>
  setLimit(here.world, company, { dollars: String(calls / 10_000), ...options })
const PACK = /PACK/

it("as many calls are counted as packs are sent, concurrently or in a row", async () => {
  const before = await unchargedCallsOf(here.world, company)
  await refs()
  expect(await unchargedCallsOf(here.world, company)).toBe(before + 1)
  // The first pack belongs to the counted request; each further one is a call of its own.
  for (let i = 0; i < 3; i += 1) expect(await fetchPack()).toMatch(PACK)
  expect(await unchargedCallsOf(here.world, company)).toBe(before + 3)
  const answers = await Promise.all([fetchPack(), fetchPack(), fetchPack()])
  for (const answer of answers) expect(answer).toMatch(PACK)
  expect(await unchargedCallsOf(here.world, company)).toBe(before + 6)
})

it("one clone, fetch, shallow clone or push is one call", async () => {
  const folder = `of ${company.companyId}`
  const address = here.addressOf(company)
  const counted = async (args: readonly string[]) => {
    const before = await unchargedCallsOf(here.world, company)
    await here.workspace.run(args, { folder: folder })
    return (await unchargedCallsOf(here.world, company)) - before
  }
  await here.workspace.commit(folder, "b", "b\n")
  expect(await counted(["push", "--quiet", address, "main"])).toBe(1)
  expect(await counted(["clone", "--quiet", address, "whole"])).toBe(1)
  expect(await counted(["clone", "--quiet", "--depth=1", address, "shallow"])).toBe(1)
  expect(await counted(["-c", "protocol.version=0", "clone", "--quiet", address, "old"])).toBe(1)
  expect(await counted(["fetch", "--quiet", address, "main"])).toBe(1)
  expect(await counted(["ls-remote", "--quiet", address])).toBe(1)
})

it("the last call that a limit allows is a whole clone; the next clone is rejected", async () => {
  const before = await unchargedCallsOf(here.world, company)
  await limitTo(before + 1, { class: "general" })
  expect((await clone()).code).toBe(0)
  expect((await clone()).stderr).toContain("remote: spend_limit_reached")
})

it("a limit of a key works the same", async () => {
  await limitTo((await unchargedCallsOf(here.world, company)) + 2, { key: company.keyId })
  expect((await clone()).code).toBe(0)
  const folder = `of ${company.companyId}`
  await here.workspace.commit(folder, "c", "c\n")
  const push = ["push", "--quiet", here.addressOf(company), "main"]
  expect((await here.workspace.git(push, { folder: folder })).code).toBe(0)
  expect((await clone()).code).toBe(128)
})

it("a pack without a request for the refs is rejected by a used-up limit and a lock", async () => {
  await limitTo(0, { class: "general" })
  expect(await fetchPack()).toContain("ERR spend_limit_reached")
  await limitTo(1_000, { class: "general" })
  await refs()
  await here.world.operate("company lock", { company: company.companyId })
  expect(await fetchPack()).toContain("ERR payment_required")
})
