/** Pushes that are more than they seem, how much there may be of everything, and how the checks read it. */
import { randomBytes } from "node:crypto"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { describe, expect, it } from "vitest"
import type { PackCommand, PushVerdict, IncomingPush } from "../../adapters/git/port.ts"
import { FLUSH_PACKET, pktLine } from "../../adapters/git/port.ts"
import { DEFAULT_SESSION_TIMEOUTS } from "../../adapters/git/read-repository.ts"
import { runReceivePack } from "../../adapters/git/receive-push.ts"
import { MAX_REFS } from "../../domain/code/ref-rules.ts"
import { reconcileRefs } from "../../src/code/reconcile-refs.ts"
import { causedBy } from "../../src/frame/kernel/envelope.ts"
import {
  startGitPost,
  codeWorld,
  laterCodeFactTypes,
  repositoryFolder,
  makeCodeCompany,
  quarantineFolders,
} from "./code-world.ts"
import { writeCommit, writePack, pushBody } from "./git.ts"
import { encodeCopyDelta, encodePackObject, encodePack } from "./packs.ts"
import type { Company } from "../support/world.ts"

const MIB = 1024 * 1024
const NO_OBJECT = "0".repeat(40)
const AT = "at"

const here = await codeWorld()
const company = await makeCodeCompany(here.world)
await here.desk.right(["init", "--quiet", AT])
await here.desk.commit(AT, "a", "a\n")

/** Of all that was sent to the company nothing came, and nobody is busy with it any more. */
async function expectNothing(): Promise<void> {
  expect(await here.world.ports.repositories.listRefs(company.companyId)).toEqual([])
  await expect.poll(() => quarantineFolders(here.codeDir, company)).toEqual([])
  await expect.poll(() => here.world.ports.packSlots.count()).toMatchObject({ in: 0, out: 0 })
  expect(await laterCodeFactTypes(here.world, company)).not.toContain("PushAccepted")
}

/** The most memory this process has ever taken, bytes: the server is in it. */
const mostMemory = () => process.resourceUsage().maxRSS * 1024

/** Sends a body; what is answered, and how it ended where it was cut off. */
async function post(
  command: PackCommand,
  body: Iterable<Uint8Array>,
  { headers = {}, who = company }: { headers?: Record<string, string>; who?: Company } = {},
): Promise<string> {
  const { sent, answered } = startGitPost(here.server, who, command)
  for (const [name, value] of Object.entries(headers)) sent.setHeader(name, value)
  for (const piece of body) sent.write(piece)
  sent.end()
  return answered.catch(String)
}

const REPORT = "\0report-status side-band-64k"

/** What a push begins with. */
const headOf = (updates: readonly string[]) =>
  Buffer.concat([
    ...updates.map((words, i) => pktLine(i === 0 ? `${words}${REPORT}` : words)),
    FLUSH_PACKET,
  ])

describe("a push that unpacks to more than it may", () => {
  it("is refused by the size of a file, which nobody has read", async () => {
    // An alias, for what is written is to go from one process to the other and not through this one.
    const size = 300 * MIB
    const zeros = `alias.zeros=!head -c ${size} /dev/zero | git hash-object -w --stdin`
    const quickly = ["-c", "core.compression=1"]
    const id = await here.desk.right([...quickly, "-c", zeros, "zeros"], { folder: AT })
    const entry = { mode: "100644", name: "zeros.bin", id }
    const { commit } = await writeCommit(here.desk, AT, [entry])
    const address = here.addressOf(company)
    const before = mostMemory()
    const pushing = [...quickly, "push", address, `${commit}:refs/heads/main`]
    const { code, stderr } = await here.desk.git(pushing, { folder: AT })
    expect([code, stderr]).toEqual([1, expect.stringContaining("Push rejected: it is too large")])
    expect(stderr).toContain(`remote:   zeros.bin: ${size} bytes`)
    expect(mostMemory() - before).toBeLessThan(150 * MIB)
    expect(await laterCodeFactTypes(here.world, company)).toEqual(["PushRefused"])
    await expectNothing()
  })

  it("is refused by git where a difference of some bytes makes a file that no memory holds", async () => {
    const base = encodePackObject("blob", Buffer.alloc(0x10000))
    const pack = encodePack([base, encodeCopyDelta(base, 0x10000, 1_024 * MIB)])
    expect(pack.length).toBeLessThan(1_000)
    const answer = await post("git-receive-pack", [
      headOf([`${NO_OBJECT} ${"1".repeat(40)} refs/heads/main`]),
      pack,
    ])
    expect(answer).toMatch(/attempting to allocate \d+ over limit/)
    expect(answer).toContain("unpack index-pack abnormal exit")
    await expectNothing()
  })

  it("is refused by git over the most that a push sends", async () => {
    const runtime = { isSandboxed: false }
    const folder = repositoryFolder(here.codeDir, company)
    await here.desk.commit(AT, "random", randomBytes(200_000))
    const body = await pushBody(here.desk, AT)
    const said: Buffer[] = []
    const conversation = {
      input: (async function* () {
        yield body
      })(),
      send: async (piece: Uint8Array) => {
        said.push(Buffer.from(piece))
      },
      signal: new AbortController().signal,
    }
    const settings = [["receive.maxInputSize", "100000"]] as const
    const yes = async (): Promise<PushVerdict> => ({ ok: true })
    await runReceivePack(
      { runtime, limits: DEFAULT_SESSION_TIMEOUTS, folder, settings },
      conversation,
      yes,
    )
    expect(Buffer.concat(said).toString()).toContain("pack exceeds maximum allowed size")
    await expectNothing()
  })
})

describe("a body packed by gzip", () => {
  const headers = { "content-encoding": "gzip" }
  /** 16 MiB of nothing in 16 KiB; a body may have many of them, one behind the other. */
  const bomb = gzipSync(Buffer.alloc(16 * MIB))

  it.each(["git-receive-pack", "git-upload-pack"] as const)(
    "is cut off where it goes on and on: %s",
    async (command) => {
      const before = mostMemory()
      const { sent, answered } = startGitPost(here.server, company, command)
      sent.setHeader("content-encoding", "gzip")
      sent.write(gzipSync(headOf([`${NO_OBJECT} ${"1".repeat(40)} refs/heads/main`])))
      // 4 GiB.
      for (let i = 0; i < 256; i += 1) sent.write(bomb)
      const cut = new Promise((done) => sent.once("close", done))
      expect(await answered.catch(String)).not.toContain("unpack ok")
      // It has no end: so it is the server that ends it, also where it has answered long ago.
      await cut
      expect(mostMemory() - before).toBeLessThan(150 * MIB)
      await expectNothing()
    },
  )

  it.each(["git-receive-pack", "git-upload-pack"] as const)(
    "that is none, or torn, ends its own request and nothing else: %s",
    async (command) => {
      const whole = gzipSync(await pushBody(here.desk, AT))
      for (const body of [
        Buffer.from("this is no gzip"),
        whole.subarray(0, whole.length / 2),
        Buffer.concat([whole.subarray(0, 100), randomBytes(1_000)]),
      ]) {
        const answer = await post(command, [body], { headers })
        expect(answer).toMatch(/^Error: |^200 /)
        expect(answer).not.toContain("unpack ok")
      }
      await expectNothing()
    },
  )
})

describe("what a push begins with", () => {
  const commitAt = () => here.desk.right(["rev-parse", "HEAD"], { folder: AT })

  it("is no certificate: it would stay among the objects whatever is said to the push", async () => {
    const commit = await commitAt()
    const secret = "what nobody looks through"
    const lines = [
      "certificate version 0.1\n",
      "pusher a <a@b> 1 +0000\n",
      "nonce x\n",
      "\n",
      `${NO_OBJECT} ${commit} refs/heads/main\n`,
      "-----BEGIN PGP SIGNATURE-----\n",
      `${secret}\n`,
      "-----END PGP SIGNATURE-----\n",
      "push-cert-end\n",
    ]
    const head = [
      pktLine(`push-cert${REPORT}\n`),
      ...lines.map((line) => pktLine(line)),
      FLUSH_PACKET,
    ]
    const pack = await writePack(here.desk, AT, [commit])
    const answer = await post("git-receive-pack", [Buffer.concat([...head, pack])])
    expect(answer).toContain("unpack signed pushes are not supported; push without --signed")
    const all = ["--git-dir", repositoryFolder(here.codeDir, company), "count-objects", "-v"]
    expect(await here.desk.right(all)).toContain("count: 0\nsize: 0\nin-pack: 0\n")
    await expectNothing()
  })

  it("is bounded: git would hold all of it", async () => {
    const commit = await commitAt()
    const update = (i: number) => `${NO_OBJECT} ${commit} refs/heads/${i}`
    const flood = function* () {
      yield pktLine(`${update(0)}${REPORT}`)
      const many = Buffer.concat(Array.from({ length: 1_000 }, (_, i) => pktLine(update(i))))
      for (let i = 0; i < 100; i += 1) yield many
      yield FLUSH_PACKET
    }
    const answer = await post("git-receive-pack", flood())
    expect(answer).toContain("unpack too many refs in one push")
    // As many as git hands out are still told of in words.
    const some = headOf(Array.from({ length: 10_000 }, (_, i) => update(i)))
    const packing = { folder: AT, input: `${commit}\n` }
    const pack = await here.desk.bytes(["pack-objects", "--stdout", "--revs", "-q"], packing)
    const said = await post("git-receive-pack", [some, pack])
    expect(said).toContain("This push moves 10000 refs; the limit is 200.")
    await expectNothing()
  })

  it("is refs: anything else is none of git's", async () => {
    for (const head of ["GET / HTTP/1.1\r\n\r\n", "0004", "0003", "fffe", "0009hello", "000g"]) {
      const answer = await post("git-receive-pack", [Buffer.from(`${head}${" ".repeat(8_000)}`)])
      expect([head, answer]).toEqual([head, expect.stringMatching(/^200 .*unpack |^Error/)])
    }
    expect(await post("git-receive-pack", [])).toMatch(/^200 $|^Error/)
    // Git asks so whether it is let in, before it sends much.
    expect(await post("git-receive-pack", [FLUSH_PACKET])).toBe("200 ")
    await expectNothing()
  })
})

it("a repository has at most 5,000 refs, and who pushes one more is told so", async () => {
  const many = await makeCodeCompany(here.world)
  const commit = await here.desk.right(["rev-parse", "HEAD"], { folder: AT })
  const address = here.addressOf(many)
  await here.desk.right(["push", "--quiet", address, "HEAD:refs/heads/main"], { folder: AT })
  // Most of them are there without a push, and found: it is the number that counts.
  const found = Array.from({ length: MAX_REFS - 200 }, (_, i) => `${commit} refs/tags/${i}\n`)
  const lines = ["# pack-refs with: peeled fully-peeled sorted \n", ...found.toSorted()]
  await writeFile(join(repositoryFolder(here.codeDir, many), "packed-refs"), lines.join(""))
  const pusher = { companyId: many.companyId, cause: causedBy("test") }
  expect(await reconcileRefs(here.world.ports, pusher, null)).toBe(true)
  const rest = Array.from({ length: 199 }, (_, i) => `${NO_OBJECT} ${commit} refs/heads/${i}`)
  const answer = await post("git-receive-pack", [headOf(rest), encodePack([])], { who: many })
  expect(answer.match(/ok refs\/heads\//g)).toHaveLength(199)
  const one = ["push", address, "HEAD:refs/heads/one-more"]
  const { code, stderr } = await here.desk.git(one, { folder: AT })
  const sentence = "remote: A repository has at most 5000 branches and tags; delete some first."
  expect([code, stderr]).toEqual([1, expect.stringContaining(sentence)])
  await here.desk.right([...one, ":refs/tags/1"], { folder: AT })
  expect(await here.world.ports.repositories.listRefs(many.companyId)).toHaveLength(MAX_REFS)
})

describe("a push whose client has gone away", () => {
  /** Sends a push of a commit and goes away once it is judged by `judge`; resolves with it. */
  async function leaving(judge: (push: IncomingPush) => Promise<PushVerdict>) {
    const [runtime, folder] = [{ isSandboxed: false }, repositoryFolder(here.codeDir, company)]
    const body = await pushBody(here.desk, AT)
    const gone = new AbortController()
    const input = (async function* () {
      yield body
    })()
    const conversation = { input, send: async () => undefined, signal: gone.signal }
    let isJudged = false
    await runReceivePack(
      { runtime, limits: DEFAULT_SESSION_TIMEOUTS, folder },
      conversation,
      async (push) => {
        gone.abort()
        return judge(push).finally(() => (isJudged = true))
      },
    )
    return isJudged
  }

  it("is read no further, and keeps its place until that is over", async () => {
    let rounds = 0
    const endless = async (push: IncomingPush): Promise<PushVerdict> => {
      for (;;) {
        for await (const { size } of push.listNewObjects()) rounds += Math.sign(size)
      }
    }
    expect(await leaving(endless)).toBe(true)
    expect(rounds).toBeLessThan(1_000)
    await expectNothing()
  })

  it("is not asked what it would have come to", async () => {
    const cannotRead = async (push: IncomingPush): Promise<PushVerdict> => {
      await expect(push.isAncestor(NO_OBJECT, NO_OBJECT)).rejects.toThrow("exited with null")
      return { ok: true }
    }
    expect(await leaving(cannotRead)).toBe(true)
    await expectNothing()
  })
})

it("folders that many commits share are read once", async () => {
  const { desk } = here
  const id = await desk.right(["hash-object", "-w", "--stdin"], { folder: AT, input: "x\n" })
  const names = Array.from({ length: 200 }, (_, i) => `100644 blob ${id}\tf${i}\n`)
  const tree = await desk.right(["mktree"], { folder: AT, input: names.join("") })
  const parents = [await desk.right(["rev-parse", "HEAD"], { folder: AT })]
  for (let i = 0; i < 20; i += 1) {
    const made = ["commit-tree", "-m", `${i}`, "-p", parents.at(-1) as string, tree]
    parents.push(await desk.right(made, { folder: AT }))
  }
  await desk.right(["update-ref", "refs/heads/shared", parents.at(-1) as string], { folder: AT })
  const commits = parents.slice(1)
  const [runtime, folder] = [{ isSandboxed: false }, repositoryFolder(here.codeDir, company)]
  await desk.right(["checkout", "--quiet", "shared"], { folder: AT })
  const input = (async function* () {
    yield await pushBody(desk, AT)
  })()
  const conversation = { input, send: async () => undefined, signal: new AbortController().signal }
  const found: (readonly [number, number | undefined])[] = []
  await runReceivePack(
    { runtime, limits: DEFAULT_SESSION_TIMEOUTS, folder },
    conversation,
    async (push) => {
      for (const path of ["", "nowhere"]) {
        for await (const { commits: some, entries } of push.readFolders(commits, path)) {
          if (some.length > 0) found.push([some.length, entries?.length])
        }
      }
      return { ok: false, lines: ["seen"] }
    },
  )
  expect(found).toEqual([
    [20, 200],
    [20, undefined],
  ])
  await desk.right(["checkout", "--quiet", "main"], { folder: AT })
})
