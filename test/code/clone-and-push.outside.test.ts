/** Clone, fetch, pull and push with the ordinary git, as far as all goes well, and what each is counted as. */
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
const { addressOf, desk, warnings, world } = here

/** A company with some commits in its repository, and a clone of it at the desk. */
async function pushed(folder: string): Promise<Company> {
  const company = await makeCodeCompany(world)
  await desk.right(["clone", "--quiet", addressOf(company), folder])
  await desk.commit(folder, "README", "one\n")
  await desk.commit(folder, "src/big.bin", randomBytes(300_000))
  await desk.right(["push", "--quiet", "origin", "main"], { folder: folder })
  return company
}

describe("an ordinary git", () => {
  it("clones what is empty, pushes to it, and finds it again", async () => {
    const company = await makeCodeCompany(world)
    const empty = await desk.git(["clone", addressOf(company), "empty"])
    expect([empty.code, empty.stderr]).toEqual([0, expect.stringContaining("empty repository")])
    const commit = await desk.commit("empty", "a.txt", "one\n")
    await desk.right(["push", "--quiet", "origin", "main"], { folder: "empty" })
    expect(await world.ports.repositories.listRefs(company.companyId)).toEqual([
      { id: commit, ref: "refs/heads/main" },
    ])
    await desk.right(["clone", "--quiet", addressOf(company), "again"])
    expect(await readFile(join(desk.path, "again", "a.txt"), "utf8")).toBe("one\n")
    // A clone, a push, a clone.
    expect(await unchargedCallsOf(world, company)).toBe(3)
  })

  it("clones the branch that was pushed first, whatever its name is", async () => {
    const company = await makeCodeCompany(world)
    await desk.right(["init", "--quiet", "--initial-branch=trunk", "first"])
    await desk.commit("first", "a.txt", "one\n")
    await desk.right(["push", "--quiet", addressOf(company), "trunk"], { folder: "first" })
    await desk.right(["clone", "--quiet", addressOf(company), "of-first"])
    expect(await readFile(join(desk.path, "of-first", "a.txt"), "utf8")).toBe("one\n")
    expect(await desk.right(["symbolic-ref", "HEAD"], { folder: "of-first" })).toBe(
      "refs/heads/trunk",
    )
    // It is the default branch from then on, and guarded as one.
    await desk.commit("first", "b.txt", "two\n")
    await desk.right(["push", "--quiet", addressOf(company), "trunk:main"], { folder: "first" })
    const deleted = await desk.git(["push", addressOf(company), ":trunk"], { folder: "first" })
    expect([deleted.code, deleted.stderr]).toEqual([
      1,
      expect.stringContaining("Push rejected: the default branch cannot be deleted"),
    ])
    await desk.right(["push", "--quiet", addressOf(company), ":main"], { folder: "first" })
  })

  it.each([0, 1, 2])("speaks version %i of its protocol", async (version) => {
    const speaking = ["-c", `protocol.version=${version}`]
    const company = await pushed(`v${version}`)
    const there = `v${version}-b`
    await desk.right([...speaking, "clone", "--quiet", addressOf(company), there])
    const commit = await desk.commit(there, "more", `${version}\n`)
    await desk.right([...speaking, "push", "--quiet", "origin", "main"], { folder: there })
    await desk.right([...speaking, "pull", "--quiet"], { folder: `v${version}` })
    expect(await desk.right(["rev-parse", "HEAD"], { folder: `v${version}` })).toBe(commit)
    expect(warnings()).toEqual([])
  })

  it("fetches a part of what is there: the newest commit, no files, one branch", async () => {
    const company = await pushed("whole")
    await desk.right(["checkout", "--quiet", "-b", "side"], { folder: "whole" })
    await desk.commit("whole", "side.txt", "side\n")
    await desk.right(["tag", "v1"], { folder: "whole" })
    await desk.right(["tag", "--annotate", "--message", "Two", "v2"], { folder: "whole" })
    await desk.right(["push", "--quiet", "origin", "side", "--tags"], { folder: "whole" })
    const address = addressOf(company)
    await desk.right(["clone", "--quiet", "--depth", "1", address, "shallow"])
    expect(await desk.right(["rev-list", "--count", "HEAD"], { folder: "shallow" })).toBe("1")
    await desk.right(["fetch", "--quiet", "--unshallow"], { folder: "shallow" })
    expect(await desk.right(["rev-list", "--count", "HEAD"], { folder: "shallow" })).toBe("2")
    const partly = ["clone", "--quiet", "--filter=blob:none", "--no-checkout", address, "partial"]
    await desk.right(partly)
    const missing = await desk.right(["rev-list", "--objects", "--all", "--missing=print"], {
      folder: "partial",
    })
    expect(missing.split("\n").filter((line) => line.startsWith("?"))).toHaveLength(3)
    await desk.right(["checkout", "--quiet", "main"], { folder: "partial" })
    expect((await readdir(join(desk.path, "partial"))).toSorted()).toEqual([
      ".git",
      "README",
      "src",
    ])
    await desk.right(["clone", "--quiet", "--branch", "v2", address, "tagged"])
    expect(await readFile(join(desk.path, "tagged", "side.txt"), "utf8")).toBe("side\n")
  })

  it.each([0, 1, 2])("fills a partial clone by version %i of its protocol", async (version) => {
    const company = await pushed(`filtered-${version}`)
    const speaking = ["-c", `protocol.version=${version}`]
    const there = `partial-${version}`
    await desk.right([...speaking, "clone", "--filter=blob:none", addressOf(company), there])
    expect(await readFile(join(desk.path, there, "README"), "utf8")).toBe("one\n")
  })

  it("sends a push of megabytes in pieces, and a long question packed", async () => {
    const company = await pushed("long")
    // More than git sends at once: then it asks whether it may, and sends in chunks.
    await desk.commit("long", "large.bin", randomBytes(3_000_000))
    await desk.right(["push", "--quiet", "origin", "main"], { folder: "long" })
    await desk.right(["clone", "--quiet", addressOf(company), "asking"])
    // What the server lacks makes the question long.
    const one = ["commit", "--quiet", "--allow-empty", "--message", "Nothing"]
    for (let i = 0; i < 40; i += 1) await desk.right(one, { folder: "asking" })
    await desk.commit("long", "b", "b\n")
    await desk.right(["push", "--quiet", "origin", "main"], { folder: "long" })
    const trace = { GIT_TRACE_CURL: "2", GIT_TRACE_CURL_NO_DATA: "1" }
    const { code, stderr } = await desk.git(["fetch", "origin"], { folder: "asking", env: trace })
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
  await here.desk.right(["init", "--quiet", folder])
  tip = await here.desk.commit(folder, "a", "a\n")
  await here.desk.right(["push", "--quiet", here.addressOf(company), "main"], { folder: folder })
})

/** Asks for a pack without having asked for the refs; the answer's first bytes. */
async function askPack(): Promise<string> {
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

const refs = () => here.desk.right(["ls-remote", here.addressOf(company)])
const clone = () => {
  const into = `clone-${(clones += 1)}`
  return here.desk.git(["clone", "--quiet", here.addressOf(company), into])
}
let clones = 0
const limitTo = (calls: number, of: Partial<LimitOptions> = {}) =>
  setLimit(here.world, company, { dollars: String(calls / 10_000), ...of })
const PACK = /PACK/

it("no more packs are sent than calls are counted, at once or one behind the other", async () => {
  const before = await unchargedCallsOf(here.world, company)
  await refs()
  expect(await unchargedCallsOf(here.world, company)).toBe(before + 1)
  // What was counted already is sent; everything else is a call of its own.
  for (let i = 0; i < 3; i += 1) expect(await askPack()).toMatch(PACK)
  expect(await unchargedCallsOf(here.world, company)).toBe(before + 3)
  const answers = await Promise.all([askPack(), askPack(), askPack()])
  for (const answer of answers) expect(answer).toMatch(PACK)
  expect(await unchargedCallsOf(here.world, company)).toBe(before + 6)
})

it("one clone, fetch, shallow clone or push is one call", async () => {
  const folder = `of ${company.companyId}`
  const address = here.addressOf(company)
  const counted = async (args: readonly string[]) => {
    const before = await unchargedCallsOf(here.world, company)
    await here.desk.right(args, { folder: folder })
    return (await unchargedCallsOf(here.world, company)) - before
  }
  await here.desk.commit(folder, "b", "b\n")
  expect(await counted(["push", "--quiet", address, "main"])).toBe(1)
  expect(await counted(["clone", "--quiet", address, "whole"])).toBe(1)
  expect(await counted(["clone", "--quiet", "--depth=1", address, "shallow"])).toBe(1)
  expect(await counted(["-c", "protocol.version=0", "clone", "--quiet", address, "old"])).toBe(1)
  expect(await counted(["fetch", "--quiet", address, "main"])).toBe(1)
  expect(await counted(["ls-remote", "--quiet", address])).toBe(1)
})

it("the last call that a limit allows is a whole clone; the next one is told why not", async () => {
  const before = await unchargedCallsOf(here.world, company)
  await limitTo(before + 1, { class: "general" })
  expect((await clone()).code).toBe(0)
  expect((await clone()).stderr).toContain("remote: spend_limit_reached")
})

it("so it is with a key's own limit", async () => {
  await limitTo((await unchargedCallsOf(here.world, company)) + 2, { key: company.keyId })
  expect((await clone()).code).toBe(0)
  const folder = `of ${company.companyId}`
  await here.desk.commit(folder, "c", "c\n")
  const pushing = ["push", "--quiet", here.addressOf(company), "main"]
  expect((await here.desk.git(pushing, { folder: folder })).code).toBe(0)
  expect((await clone()).code).toBe(128)
})

it("a limit that is used up, and a lock, stop what nobody has asked for", async () => {
  await limitTo(0, { class: "general" })
  expect(await askPack()).toContain("ERR spend_limit_reached")
  await limitTo(1_000, { class: "general" })
  await refs()
  await here.world.operate("company lock", { company: company.companyId })
  expect(await askPack()).toContain("ERR payment_required")
})
