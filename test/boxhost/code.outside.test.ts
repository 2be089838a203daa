/** Checking out code in a box and committing from it, with a real git in a folder. */
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { checkOutInBox, commitInBox } from "../../adapters/sandbox/boxhost/code-transfer.ts"
import { PACK_SCRIPT, READ_CHUNK_SCRIPT } from "../../adapters/sandbox/boxhost/code-scripts.ts"
import {
  readBoxFile,
  removeBoxFile,
  writeBoxFile,
} from "../../adapters/sandbox/boxhost/box-files.ts"
import type { BoxHandle, CodeCommitResult } from "../../adapters/sandbox/boxhost/port.ts"
import { PackTruncated } from "../../adapters/sandbox/boxhost/port.ts"
import type { GitWorkspace } from "../code/git.ts"
import { openGitWorkspace } from "../code/git.ts"
import type { ShellBox } from "../support/shell-box.ts"
import { openShellBox } from "../support/shell-box.ts"

const PERSON = { name: "Ada Worker", email: "ada@example.com" }
const COPY = "copy"

let workspace: GitWorkspace
/** The tip of `main` in the workspace: commits with files of which git packs some as deltas. */
let tip: string
beforeAll(async () => {
  workspace = await openGitWorkspace()
  await workspace.run(["init", "--quiet", COPY])
  const long = Array.from({ length: 2_000 }, (_none, i) => `line ${i * 7919}`).join("\n")
  await workspace.commit(COPY, "folder/long", long)
  await workspace.commit(COPY, "README.md", "# Read me\n")
  tip = await workspace.commit(COPY, "folder/long", long.replace("line 7919", "another line"))
  await workspace.run(["gc", "--quiet", "--aggressive"], { folder: COPY })
})
afterAll(() => workspace.clear())

let shell: ShellBox
beforeEach(async () => {
  shell = await openShellBox()
})
afterEach(() => shell.clear())

async function* piecesOf(...pieces: readonly Uint8Array[]) {
  yield* pieces
}
const packed = (...words: readonly string[]) =>
  workspace.bytes(["pack-objects", "--revs", "--stdout", "--quiet", "--delta-base-offset"], {
    folder: COPY,
    input: `${words.join("\n")}\n`,
  })
const checkOut = async (box: BoxHandle, branch = "main") =>
  checkOutInBox(box, { pack: piecesOf(await packed(tip)), branch, tip, identity: PERSON })
const commit = (
  box: BoxHandle,
  more: { branch?: string; base?: string | null; message?: string } = {},
) => commitInBox(box, { branch: "main", base: tip, message: "Work", author: PERSON, ...more })

/** Imports a box's commit into the workspace as a new branch; returns its name. */
async function importCommit(out: CodeCommitResult): Promise<string> {
  if (out.outcome !== "commit") throw new Error(`the box made no commit: ${JSON.stringify(out)}`)
  const pieces: Uint8Array[] = []
  for await (const piece of out.pack) pieces.push(piece)
  const input = Buffer.concat(pieces)
  expect(input.length).toBe(out.bytes)
  await workspace.run(["index-pack", "--stdin", "--fix-thin", "--strict"], { folder: COPY, input })
  const branch = `taken-${out.tip}`
  await workspace.run(["branch", "--force", branch, out.tip], { folder: COPY })
  return branch
}

describe("a box with a real git", () => {
  it("has the files of the commit that was checked out", async () => {
    const { box } = shell
    expect(await checkOut(box)).toBeNull()
    const long = await readBoxFile(box, "folder/long", 1_000_000)
    const expected = await workspace.bytes(["show", `${tip}:folder/long`], { folder: COPY })
    expect(long.ok && expected.equals(long.bytes)).toBe(true)
    expect(await readBoxFile(box, "README.md", 100)).toMatchObject({ ok: true })
    // Without changes there is no commit.
    expect(await commit(box)).toEqual({ outcome: "nothing" })
  })

  it("makes one commit of all changes, with the given author", async () => {
    const { box } = shell
    await checkOut(box)
    await writeBoxFile(box, "new/file", Buffer.from("new\n"))
    await writeBoxFile(box, "README.md", Buffer.from("# Changed\n"))
    await removeBoxFile(box, "folder/long")
    const author = { name: "Ben", email: "ben@example.com" }
    const out = await commitInBox(box, {
      branch: "main",
      base: tip,
      message: "# A line\n\n-m",
      author,
    })
    const branch = await importCommit(out)
    const log = ["log", "-1", "--format=%P|%an|%ae|%cn|%ce|%B", branch]
    const people = "Ben|ben@example.com|Ben|ben@example.com"
    expect(await workspace.run(log, { folder: COPY })).toBe(`${tip}|${people}|# A line\n\n-m`)
    const diff = ["diff", "--name-status", tip, branch]
    expect(await workspace.run(diff, { folder: COPY })).toBe(
      "M\tREADME.md\nD\tfolder/long\nA\tnew/file",
    )
  })

  it("makes a commit of the changes since the last one", async () => {
    const { box } = shell
    await checkOut(box)
    await writeBoxFile(box, "one", Buffer.from("1"))
    const first = await importCommit(await commit(box))
    const base = await workspace.run(["rev-parse", first], { folder: COPY })
    expect(await commit(box, { base })).toEqual({ outcome: "nothing" })
    // A commit that was not imported is offered again.
    expect(await commit(box)).toMatchObject({ outcome: "commit", tip: base })
    await writeBoxFile(box, "two", Buffer.from("2"))
    const second = await importCommit(await commit(box, { base }))
    expect(await workspace.run(["rev-parse", `${second}^`], { folder: COPY })).toBe(base)
  })

  it("keeps changes when the same code is checked out again", async () => {
    const { box } = shell
    await checkOut(box)
    await writeBoxFile(box, "README.md", Buffer.from("# Begun\n"))
    expect(await checkOut(box)).toBeNull()
    expect(await readBoxFile(box, "README.md", 100)).toMatchObject({
      bytes: Buffer.from("# Begun\n"),
    })
  })

  it("works on a new branch", async () => {
    const { box } = shell
    expect(await checkOut(box, "feature/one")).toBeNull()
    await writeBoxFile(box, "one", Buffer.from("1"))
    const other = await commit(box)
    expect(other).toMatchObject({ outcome: "refused", output: expect.stringContaining("main") })
    const branch = await importCommit(await commit(box, { branch: "feature/one" }))
    expect(await workspace.run(["rev-parse", `${branch}^`], { folder: COPY })).toBe(tip)
  })

  it("can start with an empty repository", async () => {
    const { box } = shell
    const empty = { pack: piecesOf(), branch: "main", tip: null, identity: null }
    expect(await checkOutInBox(box, empty)).toBeNull()
    expect(await commit(box, { base: null })).toEqual({ outcome: "nothing" })
    await writeBoxFile(box, "first", Buffer.from("1"))
    const branch = await importCommit(await commit(box, { base: null }))
    expect(await workspace.run(["log", "--format=%an", branch], { folder: COPY })).toBe(PERSON.name)
  })

  it("rejects a truncated pack with git's message, and accepts a complete one afterwards", async () => {
    const { box } = shell
    const pack = await packed(tip)
    const torn = { branch: "main", tip, identity: null }
    const cut = pack.subarray(0, pack.length - 30)
    expect(await checkOutInBox(box, { ...torn, pack: piecesOf(cut) })).toMatch(/^fatal: /m)
    expect(await checkOut(box)).toBeNull()
    expect(await readBoxFile(box, "README.md", 100)).toMatchObject({ ok: true })
  })

  it("rejects a commit on an unknown base", async () => {
    const { box } = shell
    await checkOut(box)
    await writeBoxFile(box, "one", Buffer.from("1"))
    const out = await commit(box, { base: "1".repeat(40) })
    expect(out).toMatchObject({
      outcome: "refused",
      output: expect.stringMatching(/bad (object|revision)/),
    })
  })
})

describe("a box with a malicious repository", () => {
  const at = (name: string) => join(shell.folder, name)

  it("runs no hook, no file system monitor and no signing", async () => {
    await checkOut(shell.box)
    const seen = at("../seen")
    const script = `#!/bin/sh\necho "$0" >> '${seen}'\n`
    mkdirSync(at(".git/hooks"), { recursive: true })
    const hooks = [
      "pre-commit",
      "commit-msg",
      "prepare-commit-msg",
      "post-commit",
      "post-index-change",
    ]
    const evil = at("../evil")
    for (const path of [...hooks.map((name) => at(`.git/hooks/${name}`)), evil]) {
      writeFileSync(path, script)
      chmodSync(path, 0o755)
    }
    const settings = { "core.fsmonitor": evil, "gpg.program": evil, "commit.gpgSign": "true" }
    const config = Object.entries({ ...settings, "core.hooksPath": at(".git/hooks") })
    const lines = config.map(([name, value]) => `[${name.replace(".", "]\n")} = ${value}\n`)
    writeFileSync(at(".git/config"), `${readFileSync(at(".git/config"), "utf8")}${lines.join("")}`)
    writeFileSync(at("work"), "work")
    const branch = await importCommit(await commit(shell.box))
    expect(await workspace.run(["show", `${branch}:work`], { folder: COPY })).toBe("work")
    expect(existsSync(seen)).toBe(false)
  })

  it("is rejected if its repository was deleted", async () => {
    await checkOut(shell.box)
    rmSync(at(".git"), { recursive: true })
    const output = expect.stringContaining("was deleted")
    expect(await commit(shell.box)).toEqual({ outcome: "refused", exitCode: 1, output })
    rmSync(at("."), { recursive: true })
    expect(await commit(shell.box)).toMatchObject({ outcome: "refused", exitCode: 1 })
  })

  it.each([
    ["no-size", "a number"],
    ["no-path", "12 "],
    ["minus", "-5 /tmp/x"],
    ["nothing", ""],
  ])("is rejected if it reports an invalid pack: %s", async (_name, report) => {
    await checkOut(shell.box)
    writeFileSync(at("work"), "work")
    const lying = lyingAbout(shell.box, PACK_SCRIPT, Buffer.from(report))
    expect(await commit(lying)).toMatchObject({
      outcome: "refused",
      output: expect.stringContaining("git"),
    })
  })

  it("is rejected if its pack is larger than the limit", async () => {
    await checkOut(shell.box)
    writeFileSync(at("work"), "work")
    const lying = lyingAbout(shell.box, PACK_SCRIPT, Buffer.from("536870913 /tmp/none"))
    expect(await commit(lying)).toMatchObject({
      outcome: "refused",
      output: expect.stringContaining("the limit is 536870912"),
    })
  })

  it("fails if its pack is shorter or longer than reported", async () => {
    await checkOut(shell.box)
    writeFileSync(at("work"), "work")
    for (const bytes of [Buffer.alloc(0), Buffer.alloc(5_000_000)]) {
      const out = await commit(lyingAbout(shell.box, READ_CHUNK_SCRIPT, bytes))
      await expect(importCommit(out)).rejects.toThrow(PackTruncated)
    }
  })
})

/** A box that returns another output for one of the scripts. */
function lyingAbout(box: BoxHandle, script: string, stdout: Uint8Array): BoxHandle {
  return {
    ...box,
    run: async (argv, options) => {
      const ran = await box.run(argv, options)
      return argv[2] === script ? { ...ran, stdout } : ran
    },
  }
}
