/** Pushes that expand when unpacked, the limits of a push, and how the checks read it. */
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
const COPY = "copy"

const here = await codeWorld()
const company = await makeCodeCompany(here.world)
await here.workspace.run(["init", "--quiet", COPY])
await here.workspace.commit(COPY, "a", "a\n")

/** Expects that nothing of a push arrived, and that nothing still works on it. */
async function expectNothing(): Promise<void> {
  expect(await here.world.ports.repositories.listRefs(company.companyId)).toEqual([])
  await expect.poll(() => quarantineFolders(here.codeDir, company)).toEqual([])
  await expect.poll(() => here.world.ports.packSlots.count()).toMatchObject({ in: 0, out: 0 })
  expect(await laterCodeFactTypes(here.world, company)).not.toContain("PushAccepted")
}

/** Peak memory of this process, which includes the server, in bytes. */
const peakMemory = () => process.resourceUsage().maxRSS * 1024

/** Sends a body; returns the answer, or the error if the connection was cut off. */
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

/** The commands at the start of a push. */
const headOf = (updates: readonly string[]) =>
  Buffer.concat([
    ...updates.map((words, i) => pktLine(i === 0 ? `${words}${REPORT}` : words)),
    FLUSH_PACKET,
  ])

describe("a push that unpacks to more than the limit", () => {
  it("is rejected by the size of a file, without reading it", async () => {
    // With an alias, the data goes from one process to the other and not through this one.
    const size = 300 * MIB
    const zeros = `alias.zeros=!head -c ${size} /dev/zero | git hash-object -w --stdin`
    const fast = ["-c", "core.compression=1"]
    const id = await here.workspace.run([...fast, "-c", zeros, "zeros"], { folder: COPY })
    const entry = { mode: "100644", name: "zeros.bin", id }
    const { commit } = await writeCommit(here.workspace, COPY, [entry])
    const address = here.addressOf(company)
    const before = peakMemory()
    const push = [...fast, "push", address, `${commit}:refs/heads/main`]
    const { code, stderr } = await here.workspace.git(push, { folder: COPY })
    expect([code, stderr]).toEqual([1, expect.stringContaining("Push rejected: it is too large")])
    expect(stderr).toContain(`remote:   zeros.bin: ${size} bytes`)
    expect(peakMemory() - before).toBeLessThan(150 * MIB)
    expect(await laterCodeFactTypes(here.world, company)).toEqual(["PushRefused"])
    await expectNothing()
  })

  it("is rejected by git if a small delta makes a file larger than memory", async () => {
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

  it("is rejected by git if its pack is over the limit", async () => {
    const runtime = { isSandboxed: false }
    const folder = repositoryFolder(here.codeDir, company)
    await here.workspace.commit(COPY, "random", randomBytes(200_000))
    const body = await pushBody(here.workspace, COPY)
    const output: Buffer[] = []
    const conversation = {
      input: (async function* () {
        yield body
      })(),
      send: async (piece: Uint8Array) => {
        output.push(Buffer.from(piece))
      },
      signal: new AbortController().signal,
    }
    const settings = [["receive.maxInputSize", "100000"]] as const
    const accept = async (): Promise<PushVerdict> => ({ ok: true })
    await runReceivePack(
      { runtime, timeouts: DEFAULT_SESSION_TIMEOUTS, folder, settings },
      conversation,
      accept,
    )
    expect(Buffer.concat(output).toString()).toContain("pack exceeds maximum allowed size")
    await expectNothing()
  })
})

describe("a gzipped body", () => {
  const headers = { "content-encoding": "gzip" }
  /** 16 MiB of zeros in 16 KiB; a body may contain many of them in a row. */
  const bomb = gzipSync(Buffer.alloc(16 * MIB))

  it.each(["git-receive-pack", "git-upload-pack"] as const)(
    "is cut off if it never ends: %s",
    async (command) => {
      const before = peakMemory()
      const { sent, answered } = startGitPost(here.server, company, command)
      sent.setHeader("content-encoding", "gzip")
      sent.write(gzipSync(headOf([`${NO_OBJECT} ${"1".repeat(40)} refs/heads/main`])))
      // 4 GiB.
      for (let i = 0; i < 256; i += 1) sent.write(bomb)
      const cut = new Promise((done) => sent.once("close", done))
      expect(await answered.catch(String)).not.toContain("unpack ok")
      // The body has no end, so the server closes the connection, even after it has answered.
      await cut
      expect(peakMemory() - before).toBeLessThan(150 * MIB)
      await expectNothing()
    },
  )

  it.each(["git-receive-pack", "git-upload-pack"] as const)(
    "that is invalid or truncated fails only its own request: %s",
    async (command) => {
      const valid = gzipSync(await pushBody(here.workspace, COPY))
      for (const body of [
        Buffer.from("this is not gzip"),
        valid.subarray(0, valid.length / 2),
        Buffer.concat([valid.subarray(0, 100), randomBytes(1_000)]),
      ]) {
        const answer = await post(command, [body], { headers })
        expect(answer).toMatch(/^Error: |^200 /)
        expect(answer).not.toContain("unpack ok")
      }
      await expectNothing()
    },
  )
})

describe("the commands of a push", () => {
  const headCommit = () => here.workspace.run(["rev-parse", "HEAD"], { folder: COPY })

  it("may not be signed: git stores the certificate even if the push is rejected", async () => {
    const commit = await headCommit()
    const secret = "a text that no check reads"
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
    const pack = await writePack(here.workspace, COPY, [commit])
    const answer = await post("git-receive-pack", [Buffer.concat([...head, pack])])
    expect(answer).toContain("unpack signed pushes are not supported; push without --signed")
    const countObjects = [
      "--git-dir",
      repositoryFolder(here.codeDir, company),
      "count-objects",
      "-v",
    ]
    expect(await here.workspace.run(countObjects)).toContain("count: 0\nsize: 0\nin-pack: 0\n")
    await expectNothing()
  })

  it("are limited in size, since git holds them in memory", async () => {
    const commit = await headCommit()
    const update = (i: number) => `${NO_OBJECT} ${commit} refs/heads/${i}`
    const flood = function* () {
      yield pktLine(`${update(0)}${REPORT}`)
      const many = Buffer.concat(Array.from({ length: 1_000 }, (_, i) => pktLine(update(i))))
      for (let i = 0; i < 100; i += 1) yield many
      yield FLUSH_PACKET
    }
    const answer = await post("git-receive-pack", flood())
    expect(answer).toContain("unpack too many refs in one push")
    // Up to the number that git passes on, the refusal is a sentence.
    const some = headOf(Array.from({ length: 10_000 }, (_, i) => update(i)))
    const options = { folder: COPY, input: `${commit}\n` }
    const pack = await here.workspace.bytes(["pack-objects", "--stdout", "--revs", "-q"], options)
    const refused = await post("git-receive-pack", [some, pack])
    expect(refused).toContain("This push moves 10000 refs; the limit is 200.")
    await expectNothing()
  })

  it("must be ref updates", async () => {
    for (const head of ["GET / HTTP/1.1\r\n\r\n", "0004", "0003", "fffe", "0009hello", "000g"]) {
      const answer = await post("git-receive-pack", [Buffer.from(`${head}${" ".repeat(8_000)}`)])
      expect([head, answer]).toEqual([head, expect.stringMatching(/^200 .*unpack |^Error/)])
    }
    expect(await post("git-receive-pack", [])).toMatch(/^200 $|^Error/)
    // Git sends this probe before a large push, to check that it is authorized.
    expect(await post("git-receive-pack", [FLUSH_PACKET])).toBe("200 ")
    await expectNothing()
  })
})

it("a repository has at most 5,000 refs, and a push of one more is rejected with the limit", async () => {
  const many = await makeCodeCompany(here.world)
  const commit = await here.workspace.run(["rev-parse", "HEAD"], { folder: COPY })
  const address = here.addressOf(many)
  await here.workspace.run(["push", "--quiet", address, "HEAD:refs/heads/main"], { folder: COPY })
  // Most of them are created without a push and then reconciled: only their number matters here.
  const found = Array.from({ length: MAX_REFS - 200 }, (_, i) => `${commit} refs/tags/${i}\n`)
  const lines = ["# pack-refs with: peeled fully-peeled sorted \n", ...found.toSorted()]
  await writeFile(join(repositoryFolder(here.codeDir, many), "packed-refs"), lines.join(""))
  const pusher = { companyId: many.companyId, cause: causedBy("test") }
  expect(await reconcileRefs(here.world.ports, pusher, null)).toBe(true)
  const rest = Array.from({ length: 199 }, (_, i) => `${NO_OBJECT} ${commit} refs/heads/${i}`)
  const answer = await post("git-receive-pack", [headOf(rest), encodePack([])], { who: many })
  expect(answer.match(/ok refs\/heads\//g)).toHaveLength(199)
  const one = ["push", address, "HEAD:refs/heads/one-more"]
  const { code, stderr } = await here.workspace.git(one, { folder: COPY })
  const sentence = "remote: A repository has at most 5000 branches and tags; delete some first."
  expect([code, stderr]).toEqual([1, expect.stringContaining(sentence)])
  await here.workspace.run([...one, ":refs/tags/1"], { folder: COPY })
  expect(await here.world.ports.repositories.listRefs(many.companyId)).toHaveLength(MAX_REFS)
})

describe("a push whose client has disconnected", () => {
  /** Sends a push and disconnects when it is judged; resolves with whether the judge has ended. */
  async function pushAndLeave(judge: (push: IncomingPush) => Promise<PushVerdict>) {
    const [runtime, folder] = [{ isSandboxed: false }, repositoryFolder(here.codeDir, company)]
    const body = await pushBody(here.workspace, COPY)
    const client = new AbortController()
    const input = (async function* () {
      yield body
    })()
    const conversation = { input, send: async () => undefined, signal: client.signal }
    let isJudged = false
    await runReceivePack(
      { runtime, timeouts: DEFAULT_SESSION_TIMEOUTS, folder },
      conversation,
      async (push) => {
        client.abort()
        return judge(push).finally(() => (isJudged = true))
      },
    )
    return isJudged
  }

  it("is not read further, and keeps its slot until the check has ended", async () => {
    let rounds = 0
    const endless = async (push: IncomingPush): Promise<PushVerdict> => {
      for (;;) {
        for await (const { size } of push.listNewObjects()) rounds += Math.sign(size)
      }
    }
    expect(await pushAndLeave(endless)).toBe(true)
    expect(rounds).toBeLessThan(1_000)
    await expectNothing()
  })

  it("is not checked further", async () => {
    const cannotRead = async (push: IncomingPush): Promise<PushVerdict> => {
      await expect(push.isAncestor(NO_OBJECT, NO_OBJECT)).rejects.toThrow("exited with null")
      return { ok: true }
    }
    expect(await pushAndLeave(cannotRead)).toBe(true)
    await expectNothing()
  })
})

it("folders that many commits share are read once", async () => {
  const { workspace } = here
  const id = await workspace.run(["hash-object", "-w", "--stdin"], { folder: COPY, input: "x\n" })
  const names = Array.from({ length: 200 }, (_, i) => `100644 blob ${id}\tf${i}\n`)
  const tree = await workspace.run(["mktree"], { folder: COPY, input: names.join("") })
  const parents = [await workspace.run(["rev-parse", "HEAD"], { folder: COPY })]
  for (let i = 0; i < 20; i += 1) {
    const commitTree = ["commit-tree", "-m", `${i}`, "-p", parents.at(-1) as string, tree]
    parents.push(await workspace.run(commitTree, { folder: COPY }))
  }
  await workspace.run(["update-ref", "refs/heads/shared", parents.at(-1) as string], {
    folder: COPY,
  })
  const commits = parents.slice(1)
  const [runtime, folder] = [{ isSandboxed: false }, repositoryFolder(here.codeDir, company)]
  await workspace.run(["checkout", "--quiet", "shared"], { folder: COPY })
  const input = (async function* () {
    yield await pushBody(workspace, COPY)
  })()
  const conversation = { input, send: async () => undefined, signal: new AbortController().signal }
  const found: (readonly [number, number | undefined])[] = []
  await runReceivePack(
    { runtime, timeouts: DEFAULT_SESSION_TIMEOUTS, folder },
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
  await workspace.run(["checkout", "--quiet", "main"], { folder: COPY })
})
