/** The checks of a push: names, sizes, keys and other secrets. */
import { beforeEach, describe, expect, it } from "vitest"
import { MAX_CHUNK_BYTES } from "../../adapters/git/port.ts"
import { makeApiKey } from "../../src/frame/routes/checks/credentials.ts"
import type { Company } from "../support/world.ts"
import { makeCompany, sharedWorld } from "../support/world.ts"
import type { FakeObject } from "./fake-pushes.ts"
import {
  OBJECT_PIECE_BYTES,
  codeFactTypes,
  recordRepository,
  judgeTestPush,
  fakeObjectId,
  fakePush,
  SAMPLE_SECRETS,
} from "./fake-pushes.ts"

const world = await sharedWorld()
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
/** Text before a key that crosses the boundary between two chunks. */
const LARGE = "x".repeat(MAX_CHUNK_BYTES + OBJECT_PIECE_BYTES - 40)
/** A folder in git's format. */
const tree = (...names: readonly string[]): Buffer =>
  Buffer.concat(names.flatMap((name) => [Buffer.from(`100644 ${name}\0`), Buffer.alloc(20, 0xcc)]))

describe("a valid push", () => {
  it("is recorded as accepted before the answer, with its objects and bytes", async () => {
    const { ok } = await judge({ bytes: "hello\n" }, { type: "tree", bytes: tree("a.txt") })
    expect(ok).toBe(true)
    expect(await codeFactTypes(world, company)).toEqual(["RepositoryCreated", "PushAccepted"])
    await world.operate("wait")
    const { pushes } = await world.operate("code pushes", { company: company.companyId })
    expect(pushes).toMatchObject([
      {
        status: "accepted",
        code: null,
        personId: company.ownerId,
        keyId: company.keyId,
        objects: 2,
        bytes: 39,
        lines: [`refs/heads/topic none..${"0".repeat(12)}`],
      },
    ])
  })

  it("needs a repository", async () => {
    const other = await makeCompany(world)
    expect((await judgeTestPush(world, other, fakePush())).text).toMatch(/has no repository/)
  })
})

describe("refs", () => {
  it.each(["refs/replace/x", "refs/meta/config", "refs/heads/HEAD", "refs/heads/-x", "HEAD"])(
    "named %s are rejected before an object is read",
    async (ref) => {
      const updates = [{ ref, old: null, new: fakeObjectId(1) }]
      const push = fakePush({ updates, objects: [{ bytes: github }] })
      expect((await judgeTestPush(world, company, push)).text).toContain(`  ${ref}: `)
      expect(push.reads()).toBe(0)
    },
  )

  it("are rejected when a push moves 201", async () => {
    const updates = Array.from({ length: 201 }, (_, i) => {
      return { ref: `refs/heads/b${i}`, old: null, new: fakeObjectId(1) }
    })
    const { text } = await judgeTestPush(world, company, fakePush({ updates }))
    expect(text).toContain("This push moves 201 refs; the limit is 200.\nPush them in parts.")
    expect((await judgeTestPush(world, company, fakePush({ updates: updates.slice(1) }))).ok).toBe(
      true,
    )
  })

  it("and file names are shown with control characters escaped", async () => {
    const updates = [{ ref: "refs/heads/a\u001b[2J\u202e", old: null, new: fakeObjectId(1) }]
    const { text } = await judgeTestPush(world, company, fakePush({ updates }))
    expect(text).toContain("refs/heads/a\\u{1b}[2J\\u{202e}")
    const named = await judge({ bytes: github, path: "a\nremote: all is well\r.txt" })
    expect(named.text).toContain("a\\u{a}remote: all is well\\u{d}.txt, line 1: github")
  })
})

describe("sizes", () => {
  it("reject a file of 10 GB by the size that git reports, without reading it", async () => {
    const push = fakePush({ objects: [{ size: 10_000_000_000, path: "zeros.bin" }] })
    const { text } = await judgeTestPush(world, company, push)
    expect(text).toContain("  zeros.bin: 10000000000 bytes")
    expect(push.reads()).toBe(0)
  })

  it("are limited to 256 MiB per object and 2 GiB per push", async () => {
    const MIB = 1024 * 1024
    expect((await judge({ size: 256 * MIB })).ok).toBe(true)
    expect((await judge({ size: 256 * MIB + 1 })).ok).toBe(false)
    const twoGib = Array.from({ length: 8 }, () => ({ size: 256 * MIB }))
    expect((await judge(...twoGib)).ok).toBe(true)
    expect((await judge(...twoGib, { bytes: "x" })).text).toContain("more than 2 GiB in all")
    expect((await judge({ type: "commit", size: 9 * MIB })).ok).toBe(false)
  })
})

describe("a key of this service", () => {
  it("is revoked permanently, and its owners get one mail", async () => {
    const { key, keyId, companyId } = company
    const { text } = await judge(
      { bytes: `a\nb\n${key}\n`, path: "config.ts" },
      { bytes: key, path: "again.ts" },
    )
    expect(text).toContain(`  config.ts, line 3: key ${keyId}, revoked`)
    expect(text).not.toContain(key)
    expect(await works(key)).toBe(false)
    await world.operate("wait")
    const { mails } = await world.operate("mail list", { company: companyId })
    expect(mails).toMatchObject([
      { to: "owner@example.com", text: expect.stringContaining("Pushed to: the company's code") },
    ])
    const { keys } = await world.operate("key list", { company: companyId })
    expect(keys).toMatchObject([{ keyId, status: "leaked" }])
    for (const verb of ["resume", "pause"]) {
      await expect(world.operate(`key ${verb}`, { keyId })).rejects.toMatchObject({
        code: "key_leaked",
      })
    }
    expect((await world.operate("key delete", { keyId })).status).toBe("deleted")
  })

  it("of another company is revoked too, and neither company learns of the other", async () => {
    const other = await makeCompany(world)
    const { text } = await judge({ bytes: other.key, path: "x" })
    expect(text).toContain("  x, line 1: cpk_****, revoked")
    expect(text).not.toContain(other.keyId)
    expect([await works(other.key), await works(company.key)]).toEqual([false, true])
    await world.operate("wait")
    const { mails } = await world.operate("mail list", { company: other.companyId })
    expect(mails).toMatchObject([{ text: expect.stringContaining("another company") }])
    expect(JSON.stringify(mails)).not.toContain(company.companyId)
    expect((await world.operate("mail list", { company: company.companyId })).mails).toEqual([])
  })

  it("that was paused cannot be resumed", async () => {
    const { key, keyId } = company
    await world.operate("key pause", { keyId })
    expect((await judge({ bytes: key })).ok).toBe(false)
    await expect(world.operate("key resume", { keyId })).rejects.toMatchObject({
      code: "key_leaked",
    })
  })

  const PLACES: readonly (readonly [string, (key: string) => FakeObject])[] = [
    ["a commit's message", (key) => ({ type: "commit", bytes: `tree x\n\nit is ${key}\n` })],
    ["a tag", (key) => ({ type: "tag", bytes: `object x\n\n${key}` })],
    ["a file's name", (key) => ({ type: "tree", bytes: tree("a", `${key}.txt`) })],
    ["an unreferenced object", (key) => ({ bytes: key })],
    ["a file of 3 MB", (key) => ({ bytes: `${"x".repeat(3_000_000)}${key}` })],
    ["two chunks of a file", (key) => ({ bytes: `${LARGE}${key}` })],
    ["two chunks of UTF-16", (key) => ({ bytes: Buffer.from(`${LARGE}${key}`, "utf16le") })],
    ["binary data", (key) => ({ bytes: Buffer.from(`\0\xff${key}\0`, "latin1") })],
    ["UTF-16", (key) => ({ bytes: Buffer.from(`\ufeffa ${key}`, "utf16le") })],
    ["big-endian UTF-16", (key) => ({ bytes: Buffer.from(`\ufeffa ${key}`, "utf16le").swap16() })],
  ]
  it.each(PLACES)("is found in %s", async (_where, objectOf) => {
    expect((await judge({ bytes: "other" }, objectOf(company.key))).ok).toBe(false)
    expect(await works(company.key)).toBe(false)
  })

  it("is reported by its offset in a large file", async () => {
    const { text } = await judge({ bytes: `${LARGE}${company.key}`, path: "x.bin" })
    expect(text).toContain(`  x.bin, byte ${LARGE.length}: key `)
  })

  it("is found in the name of a ref", async () => {
    const updates = [{ ref: `refs/tags/${company.key}`, old: null, new: fakeObjectId(1) }]
    const { text } = await judgeTestPush(world, company, fakePush({ updates }))
    expect(text).toContain(`  the name of a ref: key ${company.keyId}, revoked`)
    expect(await works(company.key)).toBe(false)
  })

  it("that was made up is rejected and revokes nothing", async () => {
    const unknownCompany = makeApiKey("co_zzzzzz").key
    const unknownKey = makeApiKey(company.companyId).key
    const { text } = await judge({ bytes: `${unknownCompany}\n${unknownKey}`, path: "x" })
    expect(text).toContain("  x, line 1: cpk_****\n  x, line 2: cpk_****\n")
    expect(text).not.toContain("revoked")
    expect((await judge({ bytes: `${unknownCompany.slice(0, -1)}-` })).ok).toBe(true)
  })

  it("has no fingerprint that an operator could allow", async () => {
    const { text } = await judge({ bytes: `${company.key}\n${github}`, path: "x" })
    expect(text).not.toContain("fingerprint")
  })
})

describe("another secret", () => {
  it("is rejected with rule, path and line, and is not shown", async () => {
    const { text } = await judge({ bytes: `a\n${github}\n`, path: "src/app.ts" })
    expect(text).toMatch(
      /^ {2}src\/app\.ts, line 2: github ghp_\*{4} \(fingerprint [0-9a-f]{32}\)$/m,
    )
    expect(text).not.toContain(github.slice(0, 8))
    expect(text).toMatch(/^Revoke each secret/m)
  })

  it.each<[string, FakeObject]>([
    ["the message of commit", { type: "commit", bytes: `tree x\n\n${github}\n` }],
    ["the message of a tag", { type: "tag", bytes: `object x\n\n${github}` }],
    ["a file name in folder", { type: "tree", bytes: tree("b", github) }],
    ["an unreferenced object", { bytes: github }],
    ["an unreferenced object", { bytes: Buffer.from(`\ufeff${github}`, "utf16le") }],
    ["an unreferenced object", { bytes: Buffer.from(`a=${github}\n`, "utf16le") }],
    ["an unreferenced object", { bytes: Buffer.from(`a=${github}\n`, "utf16le").swap16() }],
    ["an unreferenced object", { bytes: Buffer.from(`\xff\xfe${github}\n`, "latin1") }],
    ["an unreferenced object", { bytes: Buffer.from(`\xfe\xff${github}\n\n`, "latin1") }],
    ["an unreferenced object", { bytes: `${"x\n".repeat(200_000)}${github}` }],
  ])("is found in %s", async (where, object) => {
    expect((await judge(object)).text).toContain(where)
  })

  it("is accepted in any file once its fingerprint is allowed; other secrets are not", async () => {
    const { text } = await judge({ bytes: github })
    const fingerprint = /fingerprint (\w+)/.exec(text)?.[1]
    const allowing = { fingerprint, company: company.companyId }
    await world.operate("repository allow-secret", allowing, "an example")
    expect((await judge({ bytes: `x ${github}` })).ok).toBe(true)
    expect((await judge({ bytes: `${github}\n${SAMPLE_SECRETS["telnyx"]}` })).text).toMatch(
      /line 2: telnyx/,
    )
    // The allowance of one company does not apply to another.
    const other = await makeCompany(world)
    await recordRepository(world, other)
    const push = fakePush({ objects: [{ bytes: github }] })
    expect((await judgeTestPush(world, other, push)).ok).toBe(false)
  })

  it("is reported at most 20 times", async () => {
    const { text } = await judge(...Array.from({ length: 30 }, () => ({ bytes: github })))
    expect(text.match(/fingerprint \w{32}/g)).toHaveLength(20)
    expect(text).toContain("  and more")
  })
})

describe("rejected pushes", () => {
  it("are recorded with their locations, the first ten of a minute", async () => {
    const updates = [{ ref: "refs/notes/x", old: null, new: fakeObjectId(1) }]
    const refuse = () => judgeTestPush(world, company, fakePush({ updates }))
    for (let i = 0; i < 12; i += 1) expect((await refuse()).ok).toBe(false)
    expect(await codeFactTypes(world, company)).toEqual([
      "RepositoryCreated",
      ...Array<string>(10).fill("PushRefused"),
    ])
    await world.operate("wait")
    const query = { company: company.companyId, limit: 4 }
    const { pushes, next } = await world.operate("code pushes", query)
    expect(pushes).toHaveLength(4)
    expect(pushes[0]).toMatchObject({
      status: "refused",
      code: "refs",
      keyId: company.keyId,
      lines: expect.arrayContaining([expect.stringContaining("refs/notes/x: Only branches")]),
    })
    const earlier = await world.operate("code pushes", { ...query, before: next, limit: 10 })
    expect(earlier).toMatchObject({
      pushes: Array.from({ length: 6 }, () => ({ status: "refused" })),
      next: null,
    })
  })
})
