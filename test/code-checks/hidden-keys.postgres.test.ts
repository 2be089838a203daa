/** Refused pushes: secrets in unusual places, a changed protected core, and a forced default branch. */
import { beforeEach, describe, expect, it, vi, beforeAll } from "vitest"
import { MAX_CHUNK_BYTES } from "../../adapters/git/port.ts"
import { SecretScanFailed } from "../../adapters/git/secret-scan/port.ts"
import { checkPush } from "../../src/code/push-checks.ts"
import type { Company } from "../support/world.ts"
import { makeCompany, ownWorld } from "../support/world.ts"
import type { FakeObject, FakeCommit } from "./fake-pushes.ts"
import {
  codeFactTypes,
  recordRepository,
  judgeTestPush,
  fakeObjectId,
  fakePush,
  pusherOf,
  SAMPLE_SECRETS,
} from "./fake-pushes.ts"

const world = await ownWorld("store")
let company: Company
beforeEach(async () => {
  company = await makeCompany(world)
  await recordRepository(world, company)
})

const github = SAMPLE_SECRETS["github"] as string
const judge = (...objects: readonly FakeObject[]) =>
  judgeTestPush(world, company, fakePush({ objects }))
/** Whether a key still works. */
const works = async (key: string) => (await world.call(key, "GET", "/api/v1/people")).status !== 401
const base64 = (text: string): string => Buffer.from(text).toString("base64")
const created = { old: null, new: fakeObjectId(1) }
/** A push that is refused for the name of its ref. */
const misnamed = fakePush({ updates: [{ ref: "refs/notes/x", ...created }] })

describe("a key of this service", () => {
  const FORMS: Readonly<Record<string, (key: string) => string>> = {
    "a URL": (key) => `?key=${key.replaceAll("_", "%5F")}&x=${key.slice(0, 9)}`,
    "a URL with lowercase escapes": (key) => key.replaceAll("_", "%5f"),
    "a header": (key) => `Authorization: Basic ${base64(`acme:${key}`)}`,
    "a header with another user name": (key) => `Authorization: Basic ${base64(`umbra:${key}`)}`,
    base64: (key) => `ledger-key: ${base64(key)}\n`,
    "lines of base64": (key) =>
      base64(`LEDGER_KEY=${key}\n`).replaceAll(/.{76}/g, (line) => `${line}\r\n`),
    "base64 in a large file": (key) => `${"x".repeat(MAX_CHUNK_BYTES)}${base64(`:${key}`)}`,
  }
  it.each(Object.entries(FORMS))("is revoked when it is found in %s", async (_where, formOf) => {
    expect((await judge({ bytes: "other" }, { bytes: formOf(company.key) })).ok).toBe(false)
    expect(await works(company.key)).toBe(false)
  })

  it("is revoked although the scan for other secrets fails, and its push is listed", async () => {
    const { companyId, key, keyId } = company
    vi.spyOn(world.ports.secretScan, "scan").mockRejectedValueOnce(new SecretScanFailed("broken"))
    const { text } = await judge({ bytes: "x" }, { bytes: key })
    expect(text).toContain(`: key ${keyId}, revoked`)
    expect(await works(key)).toBe(false)
    await expectListed(companyId)
  })

  it("has its push listed although the client disconnects during any of git's steps", async () => {
    const ended = () => Promise.reject(new Error("git was ended"))
    const whole = fakePush({ objects: [{ bytes: company.key }] })
    const signal = AbortSignal.abort()
    const seen = world.warnings.length
    expect((await judgeTestPush(world, company, { ...whole, signal, findPath: ended })).ok).toBe(
      false,
    )
    await expectListed(company.companyId)
    const other = await makeCompany(world)
    await recordRepository(world, other)
    const half = fakePush({ objects: [{ bytes: other.key }] })
    const readObjects = async function* (ids: Iterable<string>) {
      yield* half.readObjects(ids)
      await ended()
    }
    expect((await judgeTestPush(world, other, { ...half, signal, readObjects })).ok).toBe(false)
    await expectListed(other.companyId)
    expect(world.warnings.slice(seen)).toEqual([])
  })

  it("has its push listed although ten pushes were already rejected in this minute", async () => {
    const { companyId, key } = company
    for (let i = 0; i < 10; i += 1) await judgeTestPush(world, company, misnamed)
    await judge({ bytes: key })
    await expectListed(companyId)
    // A push with a key that is already revoked adds no fact.
    await judge({ bytes: key })
    expect(await codeFactTypes(world, company)).toHaveLength(1 + 10 + 1)
  })
})

/** Expects that the push that revoked the key is listed. */
async function expectListed(companyId: string): Promise<void> {
  await world.operate("wait")
  const { events } = await world.operate("audit show", { stream: `access-${companyId}` })
  const leak = events.find(({ type }: { readonly type: string }) => type === "KeyLeaked")
  const { pushes } = await world.operate("code pushes", { company: companyId })
  expect(pushes[0]).toMatchObject({ pushId: leak.data.pushId, code: "platform_key" })
}

describe("another secret", () => {
  it("fails the push without a fact when the scan fails", async () => {
    vi.spyOn(world.ports.secretScan, "scan").mockRejectedValueOnce(new SecretScanFailed("broken"))
    const push = fakePush({ objects: [{ bytes: "x" }] })
    await expect(checkPush(world.ports, pusherOf(company), push, 0)).rejects.toThrow("broken")
    expect(await codeFactTypes(world, company)).toEqual(["RepositoryCreated"])
  })

  it("is reported with its line in a message or in a header", async () => {
    const head = `tree ${fakeObjectId(1)}\nauthor A <a@example.com> 0 +0000\n`
    const both = `${head}encoding ${github}\n\nFirst\n\nthird is ${SAMPLE_SECRETS["telnyx"]}\n`
    const { text } = await judge({ type: "commit", bytes: both })
    expect(text).toMatch(/^ {2}the header of commit \w{12}, line 3: github/m)
    expect(text).toMatch(/^ {2}the message of commit \w{12}, line 3: telnyx/m)
    const tag = { type: "tag" as const, bytes: `object x\n\n${company.key}\n` }
    expect((await judge(tag)).text).toMatch(/^ {2}the message of a tag \(\w{12}\), line 1: key/m)
    const torn = { type: "tag" as const, bytes: `object ${github}` }
    expect((await judge(torn)).text).toMatch(/^ {2}the header of a tag \(\w{12}\), line 1: github/m)
  })

  it.each(["refs/heads/", "refs/tags/v1-"])("is found in a name under %s", async (prefix) => {
    const updates = [
      { ...created, ref: "refs/heads/plain" },
      { ...created, ref: `${prefix}${github}` },
    ]
    const push = fakePush({ updates, objects: [{ bytes: "nothing" }] })
    const { text } = await judgeTestPush(world, company, push)
    expect(text).toMatch(/^ {2}the name of a ref: github ghp_\*{4} \(fingerprint [0-9a-f]{32}\)$/m)
    expect(text).not.toContain(github.slice(0, 8))
    // Such a branch can be deleted.
    const gone = [{ ref: `${prefix}${github}`, old: fakeObjectId(1), new: null }]
    expect((await judgeTestPush(world, company, fakePush({ updates: gone }))).ok).toBe(true)
  })
})

const folder = (name: string, id: string) => ({ name, mode: "40000", id })
const file = (name: string, mode = "100644") => ({ name, mode, id: fakeObjectId("f") })
const inSrc = [folder("src", fakeObjectId("5"))]
const sealed = (tree: string) => ({ root: inSrc, src: [folder("sealed", tree)] })

describe("the protected core", () => {
  const official = fakeObjectId("e1")
  beforeAll(async () => {
    for (const [version, tree] of [
      ["1.0.0", official] as const,
      ["2.0.0", fakeObjectId("e2")] as const,
    ]) {
      await world.operate("release publish", { version, notes: "n", channel: "stable" })
      await world.operate("release seal", { version, tree })
    }
  })
  const first = { id: fakeObjectId("1"), ...sealed(official) }
  const judgeCommits = (...commits: readonly FakeCommit[]) =>
    judgeTestPush(world, company, fakePush({ commits }))

  it("is accepted in any released version, and may be absent where it never was", async () => {
    expect(
      (
        await judgeCommits(first, {
          id: fakeObjectId("2"),
          parents: [first.id],
          ...sealed(fakeObjectId("e2")),
        })
      ).ok,
    ).toBe(true)
    expect((await judgeCommits({ id: fakeObjectId("1"), root: [file("README.md")] })).ok).toBe(true)
    expect((await judgeCommits({ id: fakeObjectId("1") })).ok).toBe(true)
  })

  it("is rejected when a commit in the middle changes it, although the last one restores it", async () => {
    const middle = { id: fakeObjectId("2"), parents: [first.id], ...sealed(fakeObjectId("bad")) }
    const last = { id: fakeObjectId("3"), parents: [middle.id], ...sealed(official) }
    const { text } = await judgeCommits(first, middle, last)
    expect(text).toContain(`  commit ${"0".repeat(12)}: src/sealed: it differs from every official`)
  })

  it("is rejected when a commit removes it, even if its parent was stored before", async () => {
    const old = { ...first, isStored: true } as const
    const without = { id: fakeObjectId("2"), parents: [old.id], root: [file("README.md")] }
    expect((await judgeCommits(old, without)).text).toContain("src/sealed: it was removed")
    const restored = { id: fakeObjectId("3"), parents: [without.id], ...sealed(official) }
    expect((await judgeCommits(old, without, restored)).ok).toBe(false)
  })

  it.each([
    ["a link", { root: inSrc, src: [file("sealed", "120000")] }],
    ["a link in place of its parent folder", { root: [file("src", "120000")] }],
    ["another repository", { root: inSrc, src: [file("sealed", "160000")] }],
    [
      "a folder with a sibling named Sealed",
      { root: inSrc, src: [folder("Sealed", "x"), folder("sealed", official)] },
    ],
    [
      "a folder whose parent has a sibling named SRC",
      { root: [folder("SRC", "x"), ...inSrc], src: [folder("sealed", official)] },
    ],
  ])("is rejected as %s", async (_what, folders) => {
    expect((await judgeCommits({ id: fakeObjectId("1"), ...folders })).ok).toBe(false)
  })
})

describe("the default branch", () => {
  const ref = "refs/heads/main"
  it("cannot be deleted or forced; other branches can", async () => {
    const moved = { old: fakeObjectId(1), new: fakeObjectId(2) }
    const forced = (name: string) =>
      judgeTestPush(
        world,
        company,
        fakePush({ updates: [{ ref: name, ...moved }], isForced: true }),
      )
    const deleted = (name: string) =>
      judgeTestPush(
        world,
        company,
        fakePush({ updates: [{ ref: name, old: fakeObjectId(1), new: null }] }),
      )
    expect((await forced(ref)).text).toContain("cannot be forced")
    expect((await deleted(ref)).text).toContain("cannot be deleted")
    expect([await forced("refs/heads/x"), await deleted("refs/heads/x")]).toMatchObject([
      { ok: true },
      { ok: true },
    ])
    const usual = fakePush({ updates: [{ ref, ...moved }] })
    expect((await judgeTestPush(world, company, usual)).ok).toBe(true)
  })
})
