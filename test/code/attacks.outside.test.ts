/** Trees and refs that could harm a checkout or the server: those that git refuses, and those that it accepts. */
import { beforeAll, describe, expect, it } from "vitest"
import { FLUSH_PACKET, pktLine } from "../../adapters/git/port.ts"
import {
  startGitPost,
  codeWorld,
  laterCodeFactTypes,
  makeCodeCompany,
  quarantineFolders,
} from "./code-world.ts"
import type { TreeEntry } from "./git.ts"
import { writeBlob, writeCommit, writePack } from "./git.ts"
import type { Company } from "../support/world.ts"

/** An entry; type `2` is a link, `5` a folder, `0` a file. */
interface TarEntry {
  readonly name: string
  readonly type: string
  readonly target: string
  readonly size: number
}

const BLOCK = 512

/** The entries of an archive without extension headers; long names and targets stay truncated. */
function entriesOfTar(tar: Buffer): readonly TarEntry[] {
  const entries: TarEntry[] = []
  const text = (from: number, length: number) =>
    tar.toString("utf8", from, from + length).replace(/\0.*$/s, "")
  for (let at = 0; at + BLOCK <= tar.length && tar[at] !== 0;) {
    const size = Number.parseInt(text(at + 124, 12), 8)
    const type = text(at + 156, 1)
    if (type !== "g" && type !== "x") {
      entries.push({ name: text(at, 100), type, target: text(at + 157, 100), size })
    }
    at += BLOCK * (1 + Math.ceil(size / BLOCK))
  }
  return entries
}

const COPY = "copy"
const NO_OBJECT = "0".repeat(40)

const here = await codeWorld()
const company = await makeCodeCompany(here.world)
await here.workspace.run(["init", "--quiet", COPY])
await here.workspace.run(["remote", "add", "origin", here.addressOf(company)], { folder: COPY })
const file = await writeBlob(here.workspace, COPY, "a file\n")

const push = (...words: readonly string[]) =>
  here.workspace.git(["push", "origin", ...words], { folder: COPY })

const tipsOf = ({ companyId }: Company) => here.world.ports.repositories.listRefs(companyId)

/** Expects that no code arrived, no push was accepted, and the server logged no warning. */
async function expectNothing(): Promise<void> {
  expect(await tipsOf(company)).toEqual([])
  expect(await quarantineFolders(here.codeDir, company)).toEqual([])
  expect(await laterCodeFactTypes(here.world, company)).not.toContain("PushAccepted")
  expect(here.warnings()).toEqual([])
}

const entry = (name: string, id = file, mode = "100644"): TreeEntry => ({ mode, name, id })
/** A `.gitmodules` with one module. */
const modules = (name: string, settings: string) => `[submodule "${name}"]\n${settings}\n`

describe("a tree that could harm a checkout", () => {
  const named: readonly (readonly [name: string, fault: string])[] = [
    [".git", "hasDotgit"],
    [".GIT", "hasDotgit"],
    ["git~1", "hasDotgit"],
    [".git.", "hasDotgit"],
    [".git ", "hasDotgit"],
    [".g\u200cit", "hasDotgit"],
    [".", "hasDot"],
    ["..", "hasDotdot"],
    ["a/b", "fullPathname"],
  ]
  it.each(named)("is rejected for the name %j: %s", async (name, fault) => {
    const { commit } = await writeCommit(here.workspace, COPY, [entry(name)])
    const { code, stderr } = await push(`${commit}:refs/heads/main`)
    expect([code, stderr]).toEqual([1, expect.stringContaining(`: ${fault}: `)])
    expect(stderr).toContain("! [remote rejected]")
    await expectNothing()
  })

  it.each([
    ["url = -u./payload", "x", "gitmodulesUrl"],
    ["url = https://example.com/x", "../..", "gitmodulesName"],
    ["url = https://example.com/x\n\tupdate = !touch x", "x", "gitmodulesUpdate"],
    ["url = https://example.com/x\n\tpath = -x", "x", "gitmodulesPath"],
  ])("is rejected for a .gitmodules with %j in %j: %s", async (settings, name, fault) => {
    const id = await writeBlob(here.workspace, COPY, modules(name, settings))
    const { commit } = await writeCommit(here.workspace, COPY, [entry(".gitmodules", id)])
    const { code, stderr } = await push(`${commit}:refs/heads/main`)
    expect([code, stderr]).toEqual([1, expect.stringContaining(`: ${fault}: `)])
    await expectNothing()
  })

  it.each<readonly [string, (id: string) => readonly TreeEntry[], string]>([
    ["a link as .gitmodules", (id) => [entry(".gitmodules", id, "120000")], "gitmodulesSymlink"],
    ["a name twice", (id) => [entry("a", id), entry("a", id)], "duplicateEntries"],
    ["names out of order", (id) => [entry("b", id), entry("a", id)], "treeNotSorted"],
    ["a mode with a zero before it", (id) => [entry("a", id, "0100644")], "zeroPaddedFilemode"],
  ])("is refused for %s", async (_what, entries, fault) => {
    const { commit, tree } = await writeCommit(here.workspace, COPY, entries(file))
    const pack = await writePack(here.workspace, COPY, [commit, tree, file])
    const answer = await pushByHand(commit, pack)
    expect(answer).toContain(`: ${fault}: `)
    expect(answer).toContain("unpack ")
    await expectNothing()
  })

  it("is rejected for an empty name, which an ordinary git does not pack", async () => {
    const { commit, tree } = await writeCommit(here.workspace, COPY, [entry("")])
    expect((await push(`${commit}:refs/heads/main`)).code).not.toBe(0)
    const answer = await pushByHand(
      commit,
      await writePack(here.workspace, COPY, [commit, tree, file]),
    )
    expect(answer).toMatch(/: emptyName: |empty filename in tree entry/)
    expect(answer).toContain("unpack ")
    await expectNothing()
  })
})

/** Pushes one commit to each ref without git; returns the answer. */
async function pushByHand(
  commit: string,
  pack: Buffer,
  refs: string | readonly string[] = "refs/heads/main",
  who = company,
): Promise<string> {
  const { sent, answered } = startGitPost(here.server, who, "git-receive-pack")
  const updates = [refs].flat().map((ref, i) => {
    const words = i === 0 ? "\0report-status side-band-64k" : ""
    return pktLine(`${NO_OBJECT} ${commit} ${ref}${words}`)
  })
  sent.end(Buffer.concat([...updates, FLUSH_PACKET, pack]))
  return answered
}

describe("an unusual tree that is accepted", () => {
  let receiver: Company
  beforeAll(async () => {
    receiver = await makeCodeCompany(here.world)
  })

  /** Pushes a commit with one entry to a branch; returns how the port and an archive show it. */
  async function pushEntry(what: TreeEntry, branch: string) {
    const { repositories } = here.world.ports
    const { companyId } = receiver
    const { commit } = await writeCommit(here.workspace, COPY, [what])
    const to = `${commit}:refs/heads/${branch}`
    await here.workspace.run(["push", "--quiet", here.addressOf(receiver), to], { folder: COPY })
    expect(await tipsOf(receiver)).toContainEqual({ ref: `refs/heads/${branch}`, id: commit })
    const pieces: Uint8Array[] = []
    await repositories.archive(companyId, commit, "tar", async (piece) => {
      pieces.push(piece)
    })
    const name = what.name.toString()
    const read = await repositories.readFile(companyId, commit, name, 10_000)
    const text = read === null ? null : Buffer.from(read.bytes).toString()
    return { entries: entriesOfTar(Buffer.concat(pieces)), mode: read?.mode, text }
  }

  const link = (name: string, target: string): TarEntry => ({ name, type: "2", target, size: 0 })

  it.each([
    ["passwd", "/etc/passwd"],
    [".gitattributes", "/etc/passwd"],
    [".gitignore", "../../../../etc/shadow"],
    ["company.json", "/proc/self/environ"],
  ])(
    "with a link %s to %s keeps the link, and no process of ours follows it",
    async (name, target) => {
      const id = await writeBlob(here.workspace, COPY, target)
      const { entries, mode, text } = await pushEntry(entry(name, id, "120000"), `link-${name}`)
      expect([mode, text]).toEqual(["120000", target])
      expect(entries).toEqual([link(name, target)])
    },
  )

  it.each(["CON", "aux.txt", "a\\..\\..\\b", "a:b", "a\nb\u001b[31m", "-rf", "*", "\u202egnp.exe"])(
    "keeps the name %j",
    async (name) => {
      const branch = `name-${Buffer.from(name).toString("hex")}`
      const { entries, mode, text } = await pushEntry(entry(name), branch)
      expect([mode, text]).toEqual(["100644", "a file\n"])
      expect(entries).toEqual([{ name, type: "0", target: "", size: 7 }])
    },
  )

  it("may have a name of 4,096 bytes, an unusual mode, and a name that is not UTF-8", async () => {
    const long = await pushEntry(entry("n".repeat(4_096)), "long")
    expect([long.mode, long.text, long.entries.length]).toEqual(["100644", "a file\n", 1])
    const odd = await pushEntry(entry("odd", file, "100666"), "odd")
    expect([odd.mode, odd.text]).toEqual(["100644", "a file\n"])
    const bytes = await pushEntry(
      { mode: "100644", name: Buffer.from([0xff, 0xfe]), id: file },
      "bytes",
    )
    expect([bytes.mode, bytes.entries.length]).toEqual([undefined, 1])
  })

  it("may have a submodule, which is not fetched", async () => {
    const id = "1234567890".repeat(4)
    const { entries, mode, text } = await pushEntry(entry("module", id, "160000"), "module")
    expect([mode, text]).toEqual(["160000", ""])
    expect(entries).toEqual([{ name: "module/", type: "5", target: "", size: 0 }])
  })

  it("can still be packed, cloned and bundled", async () => {
    const { repositories } = here.world.ports
    await repositories.maintain(receiver.companyId)
    await here.workspace.run(["clone", "--quiet", "--bare", here.addressOf(receiver), "all.git"])
    await here.workspace.run(["fsck"], { folder: "all.git" })
    let bytes = 0
    await repositories.bundle(receiver.companyId, async ({ length }) => {
      bytes += length
    })
    expect(bytes).toBeGreaterThan(1_000)
    expect(here.warnings()).toEqual([])
  })
})

describe("a ref", () => {
  let head: string
  beforeAll(async () => {
    ;({ commit: head } = await writeCommit(here.workspace, COPY, [entry("a")]))
  })

  const long = (bytes: number) => `refs/heads/${"r".repeat(bytes - "refs/heads/".length)}`

  it.each([
    ["refs/heads/HEAD", "A branch cannot be named HEAD."],
    ["refs/heads/-x", "A name cannot start with a dash."],
    ["refs/tags/-x", "A name cannot start with a dash."],
    [long(201), "The name is longer than 200 bytes, the limit."],
    ["refs/heads/a\u0085b", "A name cannot contain control characters."],
  ])("%j is rejected: %s", async (ref, says) => {
    // The ordinary git would refuse to push some of these names.
    const answer = await pushByHand(head, await packAt(head), ref)
    expect(answer).toContain(says)
    expect(answer).toContain(" pre-receive hook declined")
    await expectNothing()
  })

  it.each([
    "a..b",
    "../../config",
    "x.lock",
    "x.lock/y",
    ".x",
    "a/.x",
    "a b",
    "a\\b",
    "@{1}",
    "a//b",
    "x.",
    "a~1",
    "a^",
    "a:b",
    "*",
    "[x",
    "a?",
  ])("refs/heads/%s is rejected before the push is recorded as accepted", async (name) => {
    const answer = await pushByHand(head, await packAt(head), `refs/heads/${name}`)
    expect(answer).toContain(`refs/heads/${name}: Git does not accept this name`)
    expect((await here.workspace.git(["check-ref-format", `refs/heads/${name}`])).code).toBe(1)
    await expectNothing()
  })

  it.each(["refs/heads/", "refs/replace/TIP", "refs/notes/x", "refs/../HEAD", "HEAD", "config"])(
    "%s cannot be pushed",
    async (ref) => {
      const named = ref.replace("TIP", head)
      const answer = await pushByHand(head, await packAt(head), named)
      expect(answer).toContain(`ng ${named} `)
      await expectNothing()
    },
  )

  it("of 200 bytes is accepted", async () => {
    const other = await makeCodeCompany(here.world)
    const answer = await pushByHand(head, await packAt(head), long(200), other)
    expect(answer).toContain(`ok ${long(200)}`)
    expect(await tipsOf(other)).toEqual([{ ref: long(200), id: head }])
    expect(await laterCodeFactTypes(here.world, other)).toEqual(["PushAccepted", "PushCompleted"])
  })

  it("is rejected in a push of more than 200 refs", async () => {
    const refs = Array.from({ length: 201 }, (_, i) => `${head}:refs/heads/many/${i}`)
    const { code, stderr } = await push(...refs)
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining("remote:   This push moves 201 refs; the limit is 200."),
    ])
    await expectNothing()
  })

  it("is updated once by a push that names it twice, and the facts agree with the refs", async () => {
    const other = await makeCodeCompany(here.world)
    const twice = ["refs/heads/x", "refs/heads/x"]
    const answer = await pushByHand(head, await packAt(head), twice, other)
    expect(answer).toContain("ng refs/heads/x ")
    const gone = `${head} ${NO_OBJECT} refs/heads/none\0report-status side-band-64k`
    const { sent, answered } = startGitPost(here.server, other, "git-receive-pack")
    sent.end(Buffer.concat([pktLine(gone), FLUSH_PACKET]))
    expect(await answered).toContain("refs/heads/none")
    expect(await tipsOf(other)).toEqual([{ ref: "refs/heads/x", id: head }])
    const both = ["PushAccepted", "PushCompleted"]
    expect(await laterCodeFactTypes(here.world, other)).toEqual([...both, ...both])
  })
})

const packAt = async (commit: string): Promise<Buffer> => {
  const tree = await here.workspace.run(["rev-parse", `${commit}^{tree}`], { folder: COPY })
  return writePack(here.workspace, COPY, [commit, tree, file])
}
